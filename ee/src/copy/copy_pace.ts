import process from "node:process";
import type { Clock } from "@covey/core/platform";

/** While this machine decodes, the share of time that copying may compute. */
const BUSY_SHARE = 0.25;
/** Between two pieces while it decodes, at least and at most, in milliseconds. */
const SHORTEST_REST_MS = 5;
const LONGEST_REST_MS = 500;

/** What pacing needs. */
export interface PaceOptions {
  readonly clock: Clock;
  /** Whether this machine works for callers now. */
  isBusy(): boolean;
  /** Most bytes a second, or null for as many as go. */
  readonly bytesPerSecond: number | null;
  /** Processor time that this process has had, in milliseconds; its own unless said. */
  cpuMs?(): number;
}

/**
 * Holds copying back: to a rate where one is set, and to a quarter of the time
 * while this machine answers callers, since they come first. Its time is that of
 * the processor, which a slow machine spends more of on the same bytes; the time
 * in which nothing was copied, or a slow link was waited for, is no work.
 */
export class CopyPace {
  readonly #options: PaceOptions;
  readonly #cpuMs: () => number;
  #freeAtMs = 0;
  #lastCpuMs: number;

  constructor(options: PaceOptions) {
    this.#options = options;
    this.#cpuMs = options.cpuMs ?? ownCpuMs;
    this.#lastCpuMs = this.#cpuMs();
  }

  /**
   * Wait until that many bytes may go.
   *
   * @param bytes How many.
   * @param signal Aborting it ends the wait with the signal's reason.
   */
  async turn(bytes: number, signal: AbortSignal): Promise<void> {
    const { bytesPerSecond, clock, isBusy } = this.#options;
    const nowMs = clock.monotonic();
    const cpuMs = this.#cpuMs();
    const spentMs = cpuMs - this.#lastCpuMs;
    this.#lastCpuMs = cpuMs;
    const restMs = isBusy() ? restAfter(spentMs) : 0;
    const startMs = Math.max(nowMs, this.#freeAtMs) + restMs;
    const rateMs = bytesPerSecond === null ? 0 : bytes / bytesPerSecond * 1000;
    this.#freeAtMs = startMs + rateMs;
    if (startMs > nowMs) await clock.sleep(startMs - nowMs, signal);
  }
}

function restAfter(spentMs: number): number {
  const restMs = spentMs * (1 / BUSY_SHARE - 1);
  return Math.min(LONGEST_REST_MS, Math.max(SHORTEST_REST_MS, restMs));
}

function ownCpuMs(): number {
  const { system, user } = process.cpuUsage();
  return (system + user) / 1000;
}
