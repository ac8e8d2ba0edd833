/** How long TLS keeps what it began for a connection that ended early. */
const KEPT_MS = 5000;

/**
 * Remembers connections that ended before their handshake did. TLS keeps its
 * part of each until the handshake's time is up, so that who opens and closes
 * fast would fill this node's memory.
 */
export class BrokenHandshakes {
  /** Oldest first. */
  readonly #all: { readonly address: string; readonly untilMs: number }[] = [];
  readonly #counts = new Map<string, number>();

  /**
   * Note one.
   *
   * @param address Where it came from.
   * @param nowMs Monotonic time now.
   */
  add(address: string, nowMs: number): void {
    this.#all.push({ address, untilMs: nowMs + KEPT_MS });
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
  }

  /**
   * Count those that TLS still keeps.
   *
   * @param address Where they came from.
   * @param nowMs Monotonic time now.
   * @returns Those from there, and all.
   */
  count(
    address: string,
    nowMs: number,
  ): { readonly here: number; readonly total: number } {
    for (;;) {
      const [oldest] = this.#all;
      if (oldest === undefined || oldest.untilMs > nowMs) break;
      this.#all.shift();
      const left = (this.#counts.get(oldest.address) ?? 1) - 1;
      if (left > 0) this.#counts.set(oldest.address, left);
      else this.#counts.delete(oldest.address);
    }
    return { here: this.#counts.get(address) ?? 0, total: this.#all.length };
  }
}
