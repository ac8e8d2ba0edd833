const MEMORY_MS = 300_000;
const MOST_MODELS = 1024;
/** For how long ahead a model is reckoned to be kept that is never unloaded. */
const LONGEST_KEEP_MS = 1_800_000;

interface Arrivals {
  /** Arrivals, each counted less the longer it is ago. */
  weight: number;
  atMs: number;
}

/** How often each model is asked for on this node, forgetting with 5 minutes. */
export class ArrivalRates {
  /** Least recently asked for first. */
  readonly #arrivals = new Map<string, Arrivals>();

  /** Take an arrival in. */
  observe(model: string, nowMs: number): void {
    const known = this.#arrivals.get(model);
    const weight = 1 + (known === undefined ? 0 : weightAt(known, nowMs));
    this.#arrivals.delete(model);
    this.#arrivals.set(model, { weight, atMs: nowMs });
    if (this.#arrivals.size <= MOST_MODELS) return;
    for (const oldest of this.#arrivals.keys()) {
      this.#arrivals.delete(oldest);
      return;
    }
  }

  /**
   * The chance that a model is asked for again, if requests come at random.
   *
   * @param model Its name.
   * @param withinMs Time ahead; `Infinity` for as long as a model may be kept.
   * @returns From 0 to 1.
   */
  reuseChance(model: string, withinMs: number, nowMs: number): number {
    const known = this.#arrivals.get(model);
    if (known === undefined || withinMs <= 0) return 0;
    const perMs = weightAt(known, nowMs) / MEMORY_MS;
    return 1 - Math.exp(-perMs * Math.min(withinMs, LONGEST_KEEP_MS));
  }
}

function weightAt({ weight, atMs }: Arrivals, nowMs: number): number {
  return weight * Math.exp(-Math.max(0, nowMs - atMs) / MEMORY_MS);
}
