import { type MemoryNeed, neededMemory } from "./memory_fit.ts";

/** Memory that a model can be put into. Where a card shares the machine's, it counts there alone. */
export interface MemoryRoom {
  /** Of the machine. */
  readonly ramBytes: number;
  /** Of cards with memory of their own, together; 0 for none, and where nobody knows. */
  readonly cardBytes: number;
}

/** Memory of cards that have their own, together, in bytes. */
export interface CardRoom {
  /** All of it. */
  readonly totalBytes: number;
  /** The part that nobody holds. */
  readonly freeBytes: number;
}

/** How a model is divided between the machine's memory and that of its cards. */
export interface MemorySplit extends MemoryRoom {
  /** Layers that compute on cards, the one that makes the answer's words included. */
  readonly layersOnCard: number;
}

/** What llama.cpp leaves of cards: this share of all their memory, and no more than this (node-llama-cpp 3.21). */
const RESERVED_SHARE = 0.08;
const MOST_RESERVED_BYTES = 1.6 * 1024 ** 3;

/**
 * Divide a model the way llama.cpp does: as many whole layers as there is room
 * for go to the cards with what they keep of the contexts, and the rest stays.
 * What one computation needs is needed on both sides.
 *
 * @param need What the model takes.
 * @param cardBytes Room on cards; 0 for none.
 */
export function splitMemory(need: MemoryNeed, cardBytes: number): MemorySplit {
  const { cacheBytes, computeBytes, weightsBytes } = need;
  const movable = weightsBytes + cacheBytes;
  // Of an unknown number of layers all go or none.
  const parts = need.layers === undefined ? 1 : need.layers + 1;
  const room = cardBytes - computeBytes;
  const layersOnCard = movable <= 0
    ? 0
    : Math.max(0, Math.min(parts, Math.floor(room / (movable / parts))));
  const moved = movable * layersOnCard / parts;
  return {
    layersOnCard,
    cardBytes: layersOnCard === 0 ? 0 : moved + computeBytes,
    ramBytes: neededMemory(need) - moved,
  };
}

/**
 * Tell whether a model fits.
 *
 * @param need What it takes.
 * @param room What there is.
 */
export function fitsInto(
  need: MemoryNeed,
  { cardBytes, ramBytes }: MemoryRoom,
): boolean {
  return splitMemory(need, cardBytes).ramBytes <= ramBytes;
}

/**
 * Room for models on cards.
 *
 * @param totalBytes All their memory, or null where it is not known.
 * @param freeBytes The part that nobody holds, or null where it is not known.
 * @returns 0 where nobody knows: what is not known is no room.
 */
export function roomOnCards(
  totalBytes: number | null,
  freeBytes: number | null,
): number {
  if (totalBytes === null || freeBytes === null) return 0;
  const reserved = Math.min(totalBytes * RESERVED_SHARE, MOST_RESERVED_BYTES);
  return Math.max(0, freeBytes - reserved);
}
