import type { Clock } from "../../platform/mod.ts";

/** Holds several streams together under a number of bytes a second. */
export class Pace {
  readonly #clock: Clock;
  readonly #bytesPerMs: number;
  /** When the bytes taken so far will have been due. */
  #dueMs = 0;

  /**
   * @param clock Measures.
   * @param bytesPerSecond Most bytes a second, or `Infinity`.
   */
  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerMs = bytesPerSecond / 1_000;
  }

  /** Wait until that many bytes more may be taken. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#bytesPerMs === Infinity) return;
    const nowMs = this.#clock.monotonic();
    this.#dueMs = Math.max(this.#dueMs, nowMs) + bytes / this.#bytesPerMs;
    if (this.#dueMs > nowMs) {
      await this.#clock.sleep(this.#dueMs - nowMs, signal);
    }
  }
}
