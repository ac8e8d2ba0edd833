import type { Log } from "../domain/mod.ts";
import type { Child, Clock, ExitStatus } from "../platform/mod.ts";
import { drainLines } from "./bounded_lines.ts";
import type { ChildEvent } from "./child_event.ts";
import { describeExit } from "./exit_reason.ts";

const LONGEST_LINE = 4_096;
const KEPT_LINES = 20;
/** What a gone child's streams may still deliver; a grandchild could hold them open for ever. */
const DRAIN_MS = 1_000;
/** A process that does not go on SIGKILL hangs in the kernel: it is given up. */
const KILL_MS = 5_000;

/** What a run is made of. */
export interface ChildRunOptions {
  readonly child: Child;
  /** Name of what it serves, for the log. */
  readonly name: string;
  /** First line for its standard input. */
  readonly token: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted to stop it. */
  readonly stopping: AbortSignal;
  /** Aborted to end it as one that failed, with the clause that says why. */
  readonly failing: AbortSignal;
  /** Time between SIGTERM and SIGKILL. */
  readonly stopGraceMs: number;
  /** Time until it must have said that it is ready. */
  readonly loadDeadlineMs: number;
  readonly onEvent: (event: ChildEvent) => void;
}

/**
 * Attend one engine process from its start to its end: feed it its token, hold
 * its standard input open as the lifeline, read all it prints, stop it when
 * told to, when it is given up or when its load takes too long.
 *
 * @param options The process and its terms.
 * @returns Why it ended, as a clause that follows "The engine". Never rejects.
 */
export async function runChild(options: ChildRunOptions): Promise<string> {
  const { child, clock, failing, log, name, stopping, loadDeadlineMs } =
    options;
  let complaint: string | null = null;
  const over = new AbortController();
  const onStopping = () => over.abort();
  if (stopping.aborted) onStopping();
  stopping.addEventListener("abort", onStopping, { once: true });
  failing.addEventListener("abort", () => {
    complaint = String(failing.reason);
    over.abort();
  }, { once: true });
  using deadline = clock.after(loadDeadlineMs, () => {
    complaint = `did not load within ${Math.round(loadDeadlineMs / 1_000)} s`;
    over.abort();
  });
  const lastLines: string[] = [];
  const ended = follow(options, lastLines, (event) => {
    if (event.kind === "ready") deadline[Symbol.dispose]();
    if (event.kind === "failed") complaint = `failed: ${event.reason}`;
    options.onEvent(event);
  });
  const status = await Promise.race([ended, whenOver(over.signal)]) ??
    await stopChild(options, ended);
  stopping.removeEventListener("abort", onStopping);
  if (stopping.aborted) return "was stopped";
  const reason = complaint ??
    (status === null ? "hangs" : describeExit(status));
  log.warn("An engine ended unasked", {
    model: name,
    pid: child.pid,
    reason,
    code: status?.code ?? null,
    signal: status?.signal ?? null,
    output: lastLines.join("\n"),
  });
  return reason;
}

/** Feed and read the process until it is gone and its output was read. */
async function follow(
  { child, clock, log, token }: ChildRunOptions,
  lastLines: string[],
  onEvent: (event: ChildEvent) => void,
): Promise<ExitStatus> {
  // Loaded with the first child: a node that runs none does without the schemas.
  const { parseChildEvent } = await import("./child_event.ts");
  const draining = new AbortController();
  const { signal } = draining;
  const drained = Promise.allSettled([
    drainLines(child.stdout, LONGEST_LINE, (line) => {
      const event = parseChildEvent(line);
      if (event === undefined) log.debug("Engine output", { line });
      else onEvent(event);
    }, signal),
    drainLines(child.stderr, LONGEST_LINE, (line) => {
      log.debug("Engine output", { line });
      lastLines.push(line);
      if (lastLines.length > KEPT_LINES) lastLines.shift();
    }, signal),
  ]);
  const stdin = child.stdin.getWriter();
  // A child that dies before it has read its token shows by its exit.
  const [status] = await Promise.all([
    child.exited,
    stdin.write(new TextEncoder().encode(`${token}\n`)).catch(() =>
      log.debug("An engine closed its input", { pid: child.pid })
    ),
  ]);
  if (await within(clock, drained, DRAIN_MS) === null) {
    draining.abort();
    await drained;
  }
  await stdin.abort().catch(() =>
    log.debug("An engine's input was closed already", { pid: child.pid })
  );
  return status;
}

/** Ask the process to go, and make it go when it does not; null when even that fails. */
async function stopChild(
  { child, clock, log, name, stopGraceMs }: ChildRunOptions,
  ended: Promise<ExitStatus>,
): Promise<ExitStatus | null> {
  const fields = { model: name, pid: child.pid };
  child.kill("SIGTERM");
  const gone = await within(clock, ended, stopGraceMs);
  if (gone !== null) return gone;
  log.warn("An engine did not stop when asked to and is killed", fields);
  child.kill("SIGKILL");
  const killed = await within(clock, ended, KILL_MS);
  if (killed === null) log.error("An engine could not be killed", fields);
  return killed;
}

/** Wait for a promise that never rejects, for a time; null when that is up. */
async function within<Value>(
  clock: Clock,
  settled: Promise<Value>,
  ms: number,
): Promise<Value | null> {
  const waiting = Promise.withResolvers<null>();
  using _timer = clock.after(ms, () => waiting.resolve(null));
  return await Promise.race([settled, waiting.promise]);
}

function whenOver(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else {
      signal.addEventListener("abort", () => resolve(null), { once: true });
    }
  });
}
