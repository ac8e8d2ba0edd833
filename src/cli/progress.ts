import { escapeUnprintable } from "../domain/mod.ts";
import type { CliContext } from "./command.ts";
import { formatDuration } from "./duration.ts";

/** Between two lines of progress where there is no terminal. */
const SAY_EVERY_MS = 5_000;
/** Between two drawings on a terminal. */
const DRAW_EVERY_MS = 100;
const BAR_WIDTH = 24;

/** How far some long work is. */
export interface Progress {
  /** What is being done, for example `downloading`. */
  readonly what: string;
  /** Null where nothing is counted. */
  readonly doneBytes: number | null;
  /** Null while it is not known. */
  readonly totalBytes: number | null;
  /** Null while it is not known. */
  readonly bytesPerSecond: number | null;
  /** Null while it is not known. */
  readonly remainingMs: number | null;
  /** Names of members that give the bytes, or are waited for. */
  readonly from: readonly string[];
}

/**
 * Say in one line how far work is.
 *
 * @param progress How far it is.
 */
export function formatProgress(progress: Progress): string {
  const { bytesPerSecond, doneBytes, from, remainingMs, totalBytes, what } =
    progress;
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);
  const parts = [what];
  if (doneBytes !== null) {
    parts.push(megabytes(doneBytes));
    parts.push(totalBytes === null ? "MB" : `of ${megabytes(totalBytes)} MB`);
  }
  if (bytesPerSecond !== null) {
    parts.push(`at ${(bytesPerSecond / 1e6).toFixed(1)} MB/s`);
  }
  if (remainingMs !== null) {
    parts.push(`with ${formatDuration(remainingMs)} left`);
  }
  if (from.length > 0) parts.push(`from ${from.join(", ")}`);
  return escapeUnprintable(parts.join(" "));
}

/**
 * Draw how far work is; empty where its end is not known.
 *
 * @param progress How far it is.
 */
export function formatBar({ doneBytes, totalBytes }: Progress): string {
  if (doneBytes === null || totalBytes === null || totalBytes <= 0) return "";
  const share = Math.min(1, doneBytes / totalBytes);
  const full = Math.floor(share * BAR_WIDTH);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `[${"#".repeat(full)}${".".repeat(BAR_WIDTH - full)}] ${percent} % `;
}

/** Shows progress as it comes: a bar that is drawn over on a terminal, now and then a line elsewhere. */
export class ProgressTeller implements Disposable {
  readonly #context: Pick<CliContext, "nowMs" | "status" | "stderr">;
  readonly #leaving: Disposable;
  #saidMs = -Infinity;
  #said: string | null = null;

  /**
   * @param context Where it is shown.
   * @param whenLeft What to say to who leaves it by Ctrl-C, or null where that ends the work.
   */
  constructor(
    context: Pick<CliContext, "nowMs" | "status" | "stderr" | "whenLeft">,
    whenLeft: string | null,
  ) {
    this.#context = context;
    this.#leaving = context.whenLeft(whenLeft);
  }

  /** Show how far it is; what changed but little since the last time is left out. */
  tell(progress: Progress): void {
    const { nowMs, status, stderr } = this.#context;
    const now = nowMs();
    const isNews = progress.what !== this.#said;
    const every = status === undefined ? SAY_EVERY_MS : DRAW_EVERY_MS;
    if (!isNews && now - this.#saidMs < every) return;
    this.#saidMs = now;
    this.#said = progress.what;
    const line = formatProgress(progress);
    if (status === undefined) stderr(line);
    else status(`${formatBar(progress)}${line}`);
  }

  /** Say something beside it, in a line that stays. */
  say(text: string): void {
    this.#context.status?.("");
    this.#context.stderr(escapeUnprintable(text));
  }

  /** Take the bar away. */
  [Symbol.dispose](): void {
    this.#leaving[Symbol.dispose]();
    this.#context.status?.("");
  }
}
