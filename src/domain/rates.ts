/**
 * Speed of one model on one node, learned there from observations. A level that
 * was never observed holds its prior.
 */
export interface Rates {
  /** Prompt tokens a second while prefilling. */
  readonly prefillTokensPerSecond: number;
  /**
   * Mean time per output token in milliseconds, by concurrency: index 0 is one
   * sequence alone. Never empty; beyond its end the last entry counts.
   */
  readonly tpotMs: readonly number[];
  /** Time to load the model when cold, in milliseconds. */
  readonly loadTimeMs: number;
  /** Completed answers the levels rest on; 0 means priors alone. */
  readonly observations: number;
  /** Typical relative error of recent predictions, 0.2 for 20 %. */
  readonly typicalError: number;
  /** Expected output tokens of an answer nobody bounded (restricted mean). */
  readonly expectedOutputTokens: number;
}
