import type { Clock } from "@covey/core/platform";

/** While this machine decodes, the share of time that copying may take. */
const BUSY_SHARE = 0.25;

/** What pacing needs. */
export interface PaceOptions {
  readonly clock: Clock;
  /** Whether this machine works for callers now. */
  isBusy(): boolean;
  /** Most bytes a second, or null for as many as go. */
  readonly bytesPerSecond: number | null;
}

/**
 * Holds copying back: to a rate where one is set, and to a quarter of the time
 * while this machine answers callers, since they come first.
 */
export class CopyPace {
  readonly #options: PaceOptions;
  #freeAtMs = 0;
  #lastAtMs: number;

  constructor(options: PaceOptions) {
    this.#options = options;
    this.#lastAtMs = options.clock.monotonic();
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
    const startMs = Math.max(nowMs, this.#freeAtMs);
    // What the last piece took, or as long as one takes by the rate.
    const tookMs = Math.min(2000, nowMs - this.#lastAtMs);
    const busyMs = isBusy() ? Math.max(20, tookMs * (1 / BUSY_SHARE - 1)) : 0;
    const rateMs = bytesPerSecond === null ? 0 : bytes / bytesPerSecond * 1000;
    this.#freeAtMs = startMs + rateMs;
    const waitMs = startMs - nowMs + busyMs;
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    this.#lastAtMs = clock.monotonic();
  }
}
