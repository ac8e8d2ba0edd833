import type { Chunk } from "./chunk_plan.ts";

/** Missing chunks among which the best is looked for. */
const MOST_WEIGHED = 64;

/** What a source that may be asked is known to have. */
export interface KnownSource {
  /** Whether it says that it has a chunk. */
  has(chunk: Chunk): boolean;
  /**
   * Its key where it gathers the model itself, and so will have chunks that it
   * has not now; null where it has all.
   */
  readonly gatherer: string | null;
  /** Chunks it was asked for and did not give as they are: others are asked first. */
  readonly failed: ReadonlySet<number>;
}

/** What a choice depends on. */
export interface ChunkChoice {
  readonly missing: readonly Chunk[];
  /** Which of the missing is looked at first: gatherers do well to differ. */
  readonly start: number;
  /** Whether it is on its way already. */
  isComing(chunk: Chunk): boolean;
  /** The source that has nothing to do. */
  readonly source: KnownSource;
  readonly others: readonly KnownSource[];
  /** This gatherer's own key; null where nobody else gathers. */
  readonly self: string | null;
}

/**
 * The chunk to ask a source for, or undefined where it has none that is missing.
 *
 * Those that fewest sources have come first, as in BitTorrent. Beyond that,
 * whoever has the whole model is asked by each gatherer for a part of its own,
 * agreed without a word by rendezvous hashing of chunk and gatherer, so that
 * each chunk leaves it once and the gatherers hand it on. A gatherer that has
 * its part goes on with that of others: none of them is waited for.
 */
export function chooseChunk(
  { isComing, missing, others, self, source, start }: ChunkChoice,
): Chunk | undefined {
  const gatherers = others.filter(({ gatherer }) => gatherer !== null);
  const keys = gatherers.flatMap(({ gatherer }) => gatherer ?? []);
  const isWhole = source.gatherer === null && self !== null && keys.length > 0;
  let best: Chunk | undefined;
  let bestRank = Infinity;
  let weighed = 0;
  for (let at = 0; at < missing.length && weighed < MOST_WEIGHED; at++) {
    const chunk = missing[(start + at) % missing.length];
    if (chunk === undefined || isComing(chunk) || !source.has(chunk)) continue;
    weighed++;
    const holders = (isWhole ? gatherers : others).filter((one) =>
      one.has(chunk)
    );
    const isOwn = isWhole && holders.length === 0 &&
      keys.every((key) => weight(chunk, self) >= weight(chunk, key));
    const rank = isOwn ? 0 : holders.length + (isWhole ? 1 : 0);
    const isAskedElsewhere = source.failed.has(chunk.index) &&
      others.some((one) => one.has(chunk) && !one.failed.has(chunk.index));
    if (rank >= bestRank || isAskedElsewhere) continue;
    best = chunk;
    bestRank = rank;
    if (rank === 0) break;
  }
  return best;
}

/** How much a chunk is a gatherer's: chance that all of them compute alike. */
function weight(chunk: Chunk, key: string): number {
  const mixed = parseInt(chunk.digest.slice(0, 8), 16) ^
    parseInt(key.slice(0, 8), 16);
  // The finalizer of MurmurHash3: each bit of the input moves half of the output's.
  let hash = Math.imul(mixed ^ mixed >>> 16, 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 13, 0xc2b2ae35);
  return (hash ^ hash >>> 16) >>> 0;
}
