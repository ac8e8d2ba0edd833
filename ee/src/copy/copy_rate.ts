/** Over how long a rate is told: a chunk comes each four seconds at 1 MB/s. */
const WINDOW_MS = 15_000;

interface Sample {
  readonly atMs: number;
  readonly doneBytes: number;
}

/**
 * How fast a copy is now. What lay here before it went on is no part of that,
 * so that the time left is right after a restart too.
 */
export class CopyRate {
  readonly #samples: Sample[] = [];

  /**
   * Note how far the copy is.
   *
   * @param atMs Milliseconds on a monotonic clock.
   * @param doneBytes Bytes that are here, those from before included.
   */
  note(atMs: number, doneBytes: number): void {
    this.#samples.push({ atMs, doneBytes });
    const [, second] = this.#samples;
    if (second !== undefined && atMs - second.atMs >= WINDOW_MS) {
      this.#samples.shift();
    }
  }

  /** Bytes a second over the last seconds; 0 until two notes lie apart. */
  get bytesPerSecond(): number {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined) return 0;
    const tookMs = last.atMs - first.atMs;
    return tookMs <= 0 ? 0 : (last.doneBytes - first.doneBytes) * 1000 / tookMs;
  }
}
