import type { Rates } from "../../domain/mod.ts";

/**
 * Memory bandwidth of a machine nobody measured: what a Raspberry Pi 5 reaches
 * and a desktop exceeds.
 */
const BANDWIDTH_BYTES_PER_MS = 10_000_000;
/** Sequential reading from a disk nobody measured. */
const DISK_BYTES_PER_MS = 500_000;
const LOAD_BASE_MS = 300;
const LEAST_TPOT_MS = 0.5;
/** Prompt tokens share one pass over the weights; this is what processors gain by it. */
const PREFILL_GAIN = 5;
/** A further sequence shares the pass too, but not its arithmetic. */
const BATCH_SLOWDOWN = 0.5;
const EXPECTED_OUTPUT_TOKENS = 256;
const TYPICAL_ERROR = 0.5;

/** Time a load takes that nobody has seen yet. */
export function priorLoadTimeMs(sizeBytes: number): number {
  return LOAD_BASE_MS + sizeBytes / DISK_BYTES_PER_MS;
}

/**
 * Speed of a model that was never observed: each token of a processor's decode
 * reads all weights once, so that the file's size over the memory's bandwidth
 * is its time.
 *
 * @param sizeBytes Size of the weights.
 * @param slots Sequences side by side.
 * @returns Rates without observations.
 */
export function priorRates(sizeBytes: number, slots: number): Rates {
  const aloneMs = Math.max(sizeBytes / BANDWIDTH_BYTES_PER_MS, LEAST_TPOT_MS);
  return {
    prefillTokensPerSecond: 1_000 / aloneMs * PREFILL_GAIN,
    tpotMs: Array.from(
      { length: slots },
      (_, at) => aloneMs * (1 + BATCH_SLOWDOWN * at),
    ),
    loadTimeMs: priorLoadTimeMs(sizeBytes),
    observations: 0,
    typicalError: TYPICAL_ERROR,
    expectedOutputTokens: EXPECTED_OUTPUT_TOKENS,
  };
}
