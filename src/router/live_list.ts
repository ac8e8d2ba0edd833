/**
 * What is under way now, in the order in which it began. Neither a `Set` nor a
 * `Map`: V8 makes a new table of one whenever deleted places have filled it, and
 * leaves the old table pointing at the new one. Once one of them has grown old,
 * all that ever came and went behind it is kept until all garbage is collected.
 */
export class LiveList<T> implements Iterable<T> {
  readonly #all: T[] = [];

  /** How many there are. */
  get size(): number {
    return this.#all.length;
  }

  /** Add one that is not in it. */
  add(one: T): void {
    this.#all.push(one);
  }

  /**
   * Take one out.
   *
   * @returns False when it was not in it.
   */
  delete(one: T): boolean {
    const at = this.#all.indexOf(one);
    if (at < 0) return false;
    this.#all.splice(at, 1);
    return true;
  }

  /** Those that are in it now; copy them where some may leave meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return this.#all[Symbol.iterator]();
  }
}
