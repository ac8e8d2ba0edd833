/** Bytes a millisecond that a disk is taken to give before any load was seen: a fast SD card or better. */
const UNSEEN_BYTES_PER_MS = 200_000;
const SLOWEST_BYTES_PER_MS = 5_000;
/** Weight of the latest load in the average. */
const LATEST = 0.5;
/** Loads shorter than this tell of the process's start rather than of the disk. */
const TELLING_MS = 500;
const BASE_DEADLINE_MS = 300_000;
/** How many times as long as foreseen a load may take. */
const PATIENCE = 4;

/** Learns how fast this machine loads models, and how long a load may take by that. */
export class LoadSpeed {
  #bytesPerMs: number | null = null;

  /**
   * Take note of a load that came to its end.
   *
   * @param sizeBytes Size of the weights.
   * @param loadTimeMs Time it took.
   */
  observe(sizeBytes: number, loadTimeMs: number): void {
    if (loadTimeMs < TELLING_MS) return;
    const seen = sizeBytes / loadTimeMs;
    this.#bytesPerMs = this.#bytesPerMs === null
      ? seen
      : seen * LATEST + this.#bytesPerMs * (1 - LATEST);
  }

  /**
   * How long a load may take: five minutes, and four times what reading the
   * weights takes at the speed of loads so far (200 MB/s before the first). A
   * speed that was seen shortens nothing, since the file may have been in the
   * system's cache then.
   *
   * @param sizeBytes Size of the weights.
   * @returns Milliseconds.
   */
  deadlineMs(sizeBytes: number): number {
    const bytesPerMs = Math.min(
      Math.max(this.#bytesPerMs ?? Infinity, SLOWEST_BYTES_PER_MS),
      UNSEEN_BYTES_PER_MS,
    );
    return BASE_DEADLINE_MS + PATIENCE * sizeBytes / bytesPerMs;
  }
}
