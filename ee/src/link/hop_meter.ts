import type { Hop } from "@covey/core/domain";

const KEPT = 16;

/** The round trip to one peer: median and spread of the last 16. One writer: the peer's owner. */
export class HopMeter {
  #roundTripsMs: number[] = [];
  /** Of these; null when out of date. Every placement asks for it. */
  #hop: Hop | null = null;

  /** @param roundTripMs One measured round trip. */
  observe(roundTripMs: number): void {
    this.#roundTripsMs.push(roundTripMs);
    if (this.#roundTripsMs.length > KEPT) this.#roundTripsMs.shift();
    this.#hop = null;
  }

  /** Median, and mean absolute deviation from it; zero before the first. */
  hop(): Hop {
    return this.#hop ??= hopOf(this.#roundTripsMs);
  }
}

function hopOf(roundTripsMs: readonly number[]): Hop {
  const sorted = roundTripsMs.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  const medianMs = sorted.length % 2 === 0
    ? (upper + (sorted[middle - 1] ?? upper)) / 2
    : upper;
  const total = sorted.reduce((sum, ms) => sum + Math.abs(ms - medianMs), 0);
  return {
    medianMs,
    jitterMs: sorted.length === 0 ? 0 : total / sorted.length,
  };
}
