import type { Facts } from "./sensor.ts";

/** A card's memory, in bytes; null for what it does not say. */
export interface CardMemory {
  readonly totalBytes: number | null;
  readonly freeBytes: number | null;
}

/**
 * Add up the memory of cards. Of cards of which one does not tell, the sum is
 * not known.
 *
 * @param cards Those with memory of their own.
 * @param isUsed Whether this node's engines compute on them; else there is none for models.
 */
export function cardMemoryFacts(
  cards: readonly CardMemory[],
  isUsed: boolean,
): Facts {
  if (cards.length === 0) return {};
  if (!isUsed) return { cardMemoryTotalBytes: 0, cardMemoryFreeBytes: 0 };
  return {
    cardMemoryTotalBytes: sumOf(cards.map(({ totalBytes }) => totalBytes)),
    cardMemoryFreeBytes: sumOf(cards.map(({ freeBytes }) => freeBytes)),
  };
}

function sumOf(values: readonly (number | null)[]): number | null {
  return values.reduce(
    (sum, value) => sum === null || value === null ? null : sum + value,
    0,
  );
}
