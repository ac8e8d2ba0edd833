import type { Rates } from "../../domain/mod.ts";
import { priorRates } from "../embedded/prior_rates.ts";

/** Speed of a server nobody measured and whose weights have no known size. */
const TPOT_MS = 20;
const PREFILL_TOKENS_PER_SECOND = 1_000;
/** Servers with many slots batch: a further sequence costs little. */
const BATCH_SLOWDOWN = 0.1;
const LOAD_TIME_MS = 10_000;
const EXPECTED_OUTPUT_TOKENS = 256;
const TYPICAL_ERROR = 0.5;

/**
 * Speed of an upstream's model that was never observed: by the size of its
 * weights as on this machine's processor where that is known, else that of a
 * middling graphics card.
 *
 * @param sizeBytes Size of the weights, or null.
 * @param slots Sequences side by side.
 */
export function upstreamPrior(sizeBytes: number | null, slots: number): Rates {
  if (sizeBytes !== null && sizeBytes > 0) return priorRates(sizeBytes, slots);
  return {
    prefillTokensPerSecond: PREFILL_TOKENS_PER_SECOND,
    tpotMs: Array.from(
      { length: slots },
      (_, at) => TPOT_MS * (1 + BATCH_SLOWDOWN * at),
    ),
    loadTimeMs: LOAD_TIME_MS,
    observations: 0,
    typicalError: TYPICAL_ERROR,
    expectedOutputTokens: EXPECTED_OUTPUT_TOKENS,
  };
}
