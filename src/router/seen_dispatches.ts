import type { NodeId } from "../domain/mod.ts";

const MOST_ENTRIES = 4096;

/** Per entry node, the highest dispatch number that this node has taken. */
export class SeenDispatches {
  /** Least recently heard first. */
  readonly #highest = new Map<NodeId, number>();

  /**
   * Take an arrival in.
   *
   * @param entry Who sent it.
   * @param dispatch Its number; 1 says that the entry's process is a new one.
   */
  see(entry: NodeId, dispatch: number): void {
    const before = dispatch === 1 ? 0 : this.#highest.get(entry) ?? 0;
    this.#highest.delete(entry);
    this.#highest.set(entry, Math.max(before, dispatch));
    if (this.#highest.size <= MOST_ENTRIES) return;
    for (const oldest of this.#highest.keys()) {
      this.#highest.delete(oldest);
      break;
    }
  }

  /** A copy, for the report to peers. */
  snapshot(): Readonly<Record<NodeId, number>> {
    return Object.fromEntries(this.#highest);
  }
}
