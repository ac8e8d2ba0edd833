import {
  type Child,
  type Clock,
  FileError,
  type Files,
  type Processes,
} from "../platform/mod.ts";
import type { MachineReader } from "./sensor.ts";

const COMMAND_LIMIT_MS = 2000;
/** A process that SIGKILL does not end hangs in the kernel: it is given up. */
const KILL_LIMIT_MS = 1000;
const OUTPUT_LIMIT_BYTES = 64 * 1024;
/** Folders of /sys that are read have a handful of entries. */
const MOST_NAMES = 64;

/** What reading the real machine needs. */
export interface HostReaderOptions {
  readonly files: Pick<Files, "readText" | "list" | "stat">;
  readonly processes: Pick<Processes, "spawn">;
  readonly clock: Clock;
  /** Where programs are looked for, as PATH has it. */
  readonly path: string;
}

/**
 * Read the machine through the ports, with every failure meaning "not known".
 * Programs get no shell, no input, no environment but PATH, 2 s and 64 KiB.
 *
 * @param options The ports.
 */
export function createHostReader(options: HostReaderOptions): MachineReader {
  const { files } = options;
  // One file after the other: reads side by side would each take a thread, and
  // threads hold memory for as long as the process lives.
  let turn: Promise<unknown> = Promise.resolve();
  return {
    text(path) {
      const read = turn.then(() => orNull(() => files.readText(path)));
      turn = read.catch(() => {});
      return read;
    },
    async names(folder) {
      const entries = await orNull(() => files.list(folder)) ?? [];
      return entries.slice(0, MOST_NAMES).map(({ name }) => name);
    },
    async device(path) {
      const stat = await orNull(() => files.stat(path));
      const device = Number(stat?.identity?.split(":")[0] ?? NaN);
      return Number.isSafeInteger(device) ? device : null;
    },
    run: (command, signal) => run(options, command, signal),
  };
}

async function orNull<Value>(
  read: () => Promise<Value>,
): Promise<Value | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FileError) return null;
    throw error;
  }
}

async function run(
  { clock, path, processes }: HostReaderOptions,
  command: readonly string[],
  signal: AbortSignal,
): Promise<string | null> {
  if (signal.aborted) return null;
  let child: Child;
  try {
    child = processes.spawn({ command, env: { PATH: path, LC_ALL: "C" } });
  } catch {
    // Not installed is the usual answer, and a full process table no news here.
    return null;
  }
  using timers = new DisposableStack();
  const deadline = timers.use(clock.deadline(COMMAND_LIMIT_MS, signal));
  const givenUp = Promise.withResolvers<null>();
  const kill = () => {
    child.kill("SIGKILL");
    timers.use(clock.after(KILL_LIMIT_MS, () => givenUp.resolve(null)));
  };
  if (deadline.signal.aborted) kill();
  deadline.signal.addEventListener("abort", kill, { once: true });
  const [status, output] = await Promise.all([
    Promise.race([child.exited, givenUp.promise]),
    readBounded(child.stdout, deadline.signal, kill),
    readBounded(child.stderr, deadline.signal, kill),
    child.stdin.close().catch(() => {
      // It went before its input was closed.
    }),
  ]);
  deadline.signal.removeEventListener("abort", kill);
  return status?.code === 0 && !deadline.signal.aborted ? output : null;
}

/** The whole output, or null when it was cut off: by time, or by being too long. */
async function readBounded(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
  tooLong: () => void,
): Promise<string | null> {
  const reader = stream.getReader();
  const onAbort = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", onAbort, { once: true });
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return signal.aborted ? null : text + decoder.decode();
      bytes += value.length;
      if (bytes > OUTPUT_LIMIT_BYTES) {
        tooLong();
        await reader.cancel();
        return null;
      }
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    return null;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
