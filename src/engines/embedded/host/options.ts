import { parseArgs } from "node:util";

/** What an engine process is started with. */
export interface HostOptions {
  /** The GGUF to open. */
  readonly modelPath: string;
  /** Unix socket to listen on. */
  readonly socketPath: string;
  readonly mode: "chat" | "embedding" | "rerank";
  /** Tokens that prompt and answer of one slot may have together. */
  readonly contextPerSlot: number;
  /** Sequences that run side by side. */
  readonly slots: number;
  /** Threads that compute; never more. */
  readonly threads: number;
  /** Whether a GPU is used where there is one. */
  readonly gpu: "auto" | "off";
  /** Where GPU libraries lie that were added to this machine. */
  readonly packsDir?: string;
}

/** How an engine process is called. */
export const HOST_USAGE =
  "Usage: engine --model PATH --socket PATH --mode chat|embedding|rerank --context TOKENS --slots N --threads N --gpu auto|off [--packs DIR]";

const MAX_CONTEXT = 16_777_216;
const MAX_SLOTS = 256;
const MAX_THREADS = 1024;

/**
 * Parse the arguments of an engine process.
 *
 * @param args Arguments after the command's own name.
 * @returns The options, or one line that says what is wrong.
 */
export function parseHostOptions(
  args: readonly string[],
): HostOptions | string {
  const found = readFlags(args);
  if (typeof found === "string") return found;
  const { model, socket, mode, gpu, packs } = found;
  if (model === undefined) return missing("--model");
  if (socket === undefined) return missing("--socket");
  if (mode !== "chat" && mode !== "embedding" && mode !== "rerank") {
    return wrong("--mode", mode, "chat, embedding or rerank");
  }
  if (gpu !== "auto" && gpu !== "off") {
    return wrong("--gpu", gpu, "auto or off");
  }
  const contextPerSlot = count(found.context, MAX_CONTEXT);
  if (contextPerSlot === undefined) {
    return wrong("--context", found.context, `1 to ${MAX_CONTEXT}`);
  }
  const slots = count(found.slots, MAX_SLOTS);
  if (slots === undefined) {
    return wrong("--slots", found.slots, `1 to ${MAX_SLOTS}`);
  }
  const threads = count(found.threads, MAX_THREADS);
  if (threads === undefined) {
    return wrong("--threads", found.threads, `1 to ${MAX_THREADS}`);
  }
  return {
    modelPath: model,
    socketPath: socket,
    mode,
    contextPerSlot,
    slots,
    threads,
    gpu,
    ...packs === undefined ? {} : { packsDir: packs },
  };
}

function readFlags(
  args: readonly string[],
): Readonly<Record<string, string | undefined>> | string {
  const flag = { type: "string" } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        model: flag,
        socket: flag,
        mode: flag,
        context: flag,
        slots: flag,
        threads: flag,
        gpu: flag,
        packs: flag,
      },
    }).values;
  } catch (problem) {
    const what = problem instanceof Error ? problem.message : String(problem);
    return `${what.split("\n")[0]} (${HOST_USAGE})`;
  }
}

function count(text: string | undefined, most: number): number | undefined {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= 1 && value <= most ? value : undefined;
}

function missing(flag: string): string {
  return `Failed to start the engine: ${flag} is missing (${HOST_USAGE})`;
}

function wrong(
  flag: string,
  value: string | undefined,
  accepted: string,
): string {
  if (value === undefined) return missing(flag);
  return `Failed to start the engine: ${flag} is "${value}", accepted is ${accepted}`;
}
