/** A limit on how often something may begin, by a monotonic clock. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #atMs: number;

  /**
   * @param perSecond Tokens that come back in a second.
   * @param burst Most tokens there are at once.
   * @param nowMs Monotonic time now.
   */
  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /**
   * Take one token.
   *
   * @param nowMs Monotonic time now.
   * @returns False when there is none.
   */
  take(nowMs: number): boolean {
    const gained = Math.max(0, nowMs - this.#atMs) / 1000 * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#atMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
