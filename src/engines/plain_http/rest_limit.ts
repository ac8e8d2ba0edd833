/**
 * Servers of Node, uvicorn (vLLM) and cpp-httplib (llama-server) close what has
 * idled for 5 s: who closes first never sends into a connection that ends.
 */
const LONGEST_MS = 4_000;
/** Not worth keeping for less. */
const LEAST_MS = 10;
/** One that was restarted closes all its connections, whenever it did before. */
const DOUBLED_EVERY_MS = 60_000;

/**
 * How long connections to a server may rest. Many close theirs sooner than
 * others (gunicorn after 2 s) and say nothing of it: half of the shortest rest
 * that a server ended is kept to from then on, and doubled again with time.
 */
export class RestLimit {
  #ms = LONGEST_MS;
  #changedMs = 0;

  /**
   * The longest rest by now.
   *
   * @param nowMs Monotonic time.
   * @returns Milliseconds; 0 for none.
   */
  at(nowMs: number): number {
    while (
      this.#ms < LONGEST_MS && nowMs - this.#changedMs >= DOUBLED_EVERY_MS
    ) {
      this.#ms = Math.min(LONGEST_MS, Math.max(this.#ms, LEAST_MS) * 2);
      this.#changedMs += DOUBLED_EVERY_MS;
    }
    return this.#ms;
  }

  /**
   * Take in that the server ended a connection that rested.
   *
   * @param restedMs For how long it had.
   * @param nowMs Monotonic time.
   */
  learn(restedMs: number, nowMs: number): void {
    const halfMs = restedMs / 2;
    this.#ms = Math.min(this.at(nowMs), halfMs < LEAST_MS ? 0 : halfMs);
    this.#changedMs = nowMs;
  }
}
