import { Fault, type Log } from "../../domain/mod.ts";
import {
  type Child,
  type Clock,
  orAborted,
  type Processes,
} from "../../platform/mod.ts";
import { drainLines } from "../bounded_lines.ts";

const KEPT_LINES = 10;
const LONGEST_LINE = 512;
/** What a grandchild that holds the streams open, its input among them, is waited for once the program is gone. */
const DRAIN_MS = 1_000;

/** One run of a program. */
export interface ProgramRun {
  readonly processes: Processes;
  readonly clock: Clock;
  readonly log: Log;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Folder it runs in. */
  readonly folder: string;
  /** What it reads on standard input. */
  readonly input: Uint8Array<ArrayBuffer>;
  readonly timeLimitMs: number;
  /** Most bytes of standard output. */
  readonly mostBytes: number;
}

/** How a program ended by itself. */
export interface ProgramEnd {
  readonly code: number;
  /** Its standard output. */
  readonly output: string;
}

/**
 * Run a program to its end. It is killed when the signal aborts, when its time
 * is up and when it prints too much, and is gone when this returns or throws.
 *
 * @param run What to run.
 * @param signal Aborting it kills the program.
 * @returns How it ended, whatever its exit code.
 * @throws {Fault} `engine_failed` or `engine_timeout`; the signal's reason once that aborted.
 */
export async function runProgram(
  run: ProgramRun,
  signal: AbortSignal,
): Promise<ProgramEnd> {
  const { clock, log, command } = run;
  signal.throwIfAborted();
  const name = command[0] ?? "";
  let child: Child;
  try {
    child = run.processes.spawn({
      command,
      env: run.env,
      cwd: run.folder,
      ownGroup: true,
    });
  } catch (cause) {
    throw new Fault("engine_failed", `Failed to start "${baseOf(name)}"`, {
      cause,
    });
  }
  const reading = new AbortController();
  let broken: Fault | null = null;
  const breakOff = (fault: Fault | null) => {
    broken ??= fault;
    child.kill("SIGKILL");
  };
  const onAbort = () => breakOff(null);
  signal.addEventListener("abort", onAbort, { once: true });
  using limit = clock.after(run.timeLimitMs, () =>
    breakOff(
      new Fault(
        "engine_timeout",
        `The program "${baseOf(name)}" was not done within ${
          Math.round(run.timeLimitMs / 1_000)
        } s`,
      ),
    ));
  const complaints: string[] = [];
  const streams = Promise.allSettled([
    orAborted(feed(child, run.input), reading.signal),
    collect(child, run.mostBytes, reading.signal, () =>
      breakOff(
        new Fault("engine_failed", `"${baseOf(name)}" prints too much`),
      )),
    drainLines(child.stderr, LONGEST_LINE, (line) => {
      complaints.push(line);
      if (complaints.length > KEPT_LINES) complaints.shift();
    }, reading.signal),
  ]);
  const { code } = await child.exited;
  limit[Symbol.dispose]();
  signal.removeEventListener("abort", onAbort);
  using _drain = clock.after(DRAIN_MS, () => reading.abort());
  const [, output] = await streams;
  signal.throwIfAborted();
  if (broken !== null) throw broken;
  if (code !== 0) {
    log.warn("A program of a command engine failed", {
      program: name,
      code,
      output: complaints.join("\n"),
    });
  }
  return { code, output: output.status === "fulfilled" ? output.value : "" };
}

/** The last part of a program's path: the rest is nobody's business. */
export function baseOf(program: string): string {
  return program.split("/").at(-1) ?? program;
}

async function feed(
  { stdin }: Child,
  input: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const writer = stdin.getWriter();
  try {
    if (input.length > 0) await writer.write(input);
  } finally {
    await writer.close();
  }
}

async function collect(
  { stdout }: Child,
  mostBytes: number,
  signal: AbortSignal,
  onTooMuch: () => void,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let sizeBytes = 0;
  await stdout.pipeTo(
    new WritableStream({
      write(bytes) {
        sizeBytes += bytes.length;
        if (sizeBytes > mostBytes) onTooMuch();
        else text += decoder.decode(bytes, { stream: true });
      },
    }),
    { signal },
  );
  return text + decoder.decode();
}
