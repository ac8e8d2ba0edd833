/** One ring lets so many look for a slot: there is rarely more than one to be had. */
const MOST_TOLD = 8;

/**
 * Tells attempts that wait when a slot may have fallen free somewhere, oldest
 * first, and keeps two of them from moving to the same engine at once.
 */
export class FreeSlotBell {
  /** In order of arrival. */
  readonly #listeners = new Set<() => void>();
  readonly #claimed = new Set<string>();
  #rings = false;

  /**
   * Be told.
   *
   * @param listener Called after each ring while it is among the oldest.
   * @returns Disposing it ends that.
   */
  listen(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Tell them soon: whatever is being done now comes to its end first. */
  ring(): void {
    if (this.#rings || this.#listeners.size === 0) return;
    this.#rings = true;
    queueMicrotask(() => {
      this.#rings = false;
      for (const listener of [...this.#listeners].slice(0, MOST_TOLD)) {
        listener();
      }
    });
  }

  /**
   * Claim an engine for a move.
   *
   * @param key The engine.
   * @returns False when another move to it is under way.
   */
  claim(key: string): boolean {
    if (this.#claimed.has(key)) return false;
    this.#claimed.add(key);
    return true;
  }

  /** Let go of a claim. */
  release(key: string): void {
    this.#claimed.delete(key);
  }
}
