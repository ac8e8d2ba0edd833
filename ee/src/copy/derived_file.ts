/** What a file was made from, and what making it takes: of a file that a receiver could make itself. */
export interface Derivation {
  /** SHA-256 of the file that it was made from. */
  readonly from: string;
  /** What was done, with its settings, such that doing it again gives the same bytes. */
  readonly recipe: string;
  /** How long that took where it was done, in milliseconds. */
  readonly tookMs: number;
}

/** What is known when a receiver decides about a derived file. */
export interface DerivedChoice {
  readonly sizeBytes: number;
  readonly derivation: Derivation;
  /** Whether the receiver has the file that it is made from. */
  readonly hasOriginal: boolean;
  /** Whether the receiver can follow the recipe. */
  readonly canMake: boolean;
  /** What the link to the source has been seen to carry, or null before its first bytes. */
  readonly linkBytesPerSecond: number | null;
  /**
   * How fast this machine is against the one that made the file, as seen in
   * work that both did; 1 where nothing was seen.
   */
  readonly relativeSpeed: number;
}

/**
 * Decide whether a derived file is copied or made again: copied where the link
 * as it was seen brings it sooner than making it takes, and wherever it can not
 * be made. The threshold is what was measured, not a setting.
 *
 * @param choice What is known.
 */
export function decideDerived(
  {
    canMake,
    derivation,
    hasOriginal,
    linkBytesPerSecond,
    relativeSpeed,
    sizeBytes,
  }: DerivedChoice,
): "copy" | "make" {
  if (!hasOriginal || !canMake) return "copy";
  // Its first chunks tell; a file that is begun can still be made instead.
  if (linkBytesPerSecond === null) return "copy";
  const copyMs = linkBytesPerSecond > 0
    ? sizeBytes / linkBytesPerSecond * 1000
    : Infinity;
  const makeMs = derivation.tookMs / Math.max(relativeSpeed, 0.01);
  return copyMs <= makeMs ? "copy" : "make";
}
