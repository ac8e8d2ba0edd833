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
  /** Time of an answer beside prefill and decode, in milliseconds; absent where it is not known. */
  readonly overheadMs?: number;
  /**
   * Time per token over that of the level, by powers of two of tokens in the
   * context: index 3 is eight tokens. Beyond the end of either the last entry
   * counts; where it is empty there is no difference. Absent where nothing is known.
   */
  readonly byLength?: {
    /** By the tokens of a prompt, and once more by those of it that are cached. */
    readonly prefill: readonly number[];
    /** By the tokens that the answer is written after, half of its own included. */
    readonly decode: readonly number[];
  };
}
