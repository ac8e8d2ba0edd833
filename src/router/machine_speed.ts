import type { Offer, Rates, SpeedPrior } from "../domain/mod.ts";
import type { AnswerObservation, ModelRates } from "./model_rates.ts";

/** A machine that runs at this share of its speed or more runs as usual. */
const AS_USUAL = 0.97;

/**
 * Rates as they are while the machine runs at a share of its usual speed.
 *
 * @param rates Rates at its usual speed.
 * @param factor That share, above 0. Loads are not scaled: they wait for the disk.
 */
export function ratesAt(rates: Rates, factor: number): Rates {
  if (factor === 1) return rates;
  return {
    ...rates,
    prefillTokensPerSecond: rates.prefillTokensPerSecond * factor,
    tpotMs: rates.tpotMs.map((ms) => ms / factor),
  };
}

/**
 * Learn from an answer. What a machine shows that is slowed down teaches what
 * the slowdown costs, once its usual speed is known, and leaves that as it is:
 * it counts again the moment the machine is well. Before, it teaches the usual
 * speed with the expected slowdown taken out.
 *
 * @param rates What is known of the model.
 * @param seen What the answer showed.
 * @param offer The model as published when the answer got its slot.
 * @param speed What the machine's state does to speed, or null where the engine does not run on it.
 * @param nowMs Monotonic time.
 */
export function learnFrom(
  rates: ModelRates,
  seen: AnswerObservation,
  offer: Offer,
  speed: SpeedPrior | null,
  nowMs?: number,
): void {
  const factor = speed?.factor() ?? 1;
  const relative = factor < AS_USUAL ? rates.relativeSpeed(seen) : null;
  if (relative !== null) {
    speed?.observe(relative);
    rates.observe({ ...seen, prefillMs: null, decodeMs: null }, offer, nowMs);
    return;
  }
  rates.observe(
    {
      ...seen,
      prefillMs: scaled(seen.prefillMs, factor),
      decodeMs: scaled(seen.decodeMs, factor),
    },
    offer,
    nowMs,
  );
}

function scaled(ms: number | null, factor: number): number | null {
  return ms === null ? null : ms * factor;
}
