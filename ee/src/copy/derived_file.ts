import type { Derivation } from "@covey/core/domain";

/** What is known when a receiver decides about a derived file that it can make itself. */
export interface DerivedChoice {
  readonly sizeBytes: number;
  readonly derivation: Derivation;
  /** What the link to the sources has been seen to carry, or null before its first bytes. */
  readonly linkBytesPerSecond: number | null;
  /**
   * How fast this machine is against the one that made the file, as seen in
   * work that both did; 1 where nothing was seen.
   */
  readonly relativeSpeed: number;
}

/** What was decided, and the times it rests on, in milliseconds. */
export interface DerivedDecision {
  readonly kind: "copy" | "make";
  /** Infinity where nothing comes; null while nothing was seen. */
  readonly copyMs: number | null;
  readonly makeMs: number;
}

/**
 * Decide whether a derived file is copied or made again: copied where the link
 * as it was seen brings it sooner than making it takes. The threshold is what
 * was measured, not a setting.
 *
 * @param choice What is known.
 */
export function decideDerived(
  { derivation, linkBytesPerSecond, relativeSpeed, sizeBytes }: DerivedChoice,
): DerivedDecision {
  const makeMs = derivation.tookMs / Math.max(relativeSpeed, 0.01);
  // Its first chunks tell; a file that is begun can still be made instead.
  if (linkBytesPerSecond === null) {
    return { kind: "copy", copyMs: null, makeMs };
  }
  const copyMs = linkBytesPerSecond > 0
    ? sizeBytes / linkBytesPerSecond * 1000
    : Infinity;
  return { kind: copyMs <= makeMs ? "copy" : "make", copyMs, makeMs };
}
