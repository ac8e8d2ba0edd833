import type { Attempt, Offer } from "../domain/mod.ts";
import type { AnswerMeter } from "./answer_meter.ts";
import { decodes, type Work } from "./estimate.ts";
import type { AnswerObservation } from "./model_rates.ts";

/** Times around one answer. */
export interface AnswerTimes {
  /** Monotonic time at which the engine was asked. */
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Sequences that ran side by side, on average. */
  readonly concurrency: number;
  /** Whether it was looked at while it ran. */
  readonly sampled: boolean;
  /** What a load took that it waited for, or null. */
  readonly loadTimeMs: number | null;
}

/**
 * Read from a complete answer what it showed of its engine's speed: from the
 * engine's own timings, else from when its content came. Pure.
 *
 * @param attempt What was asked.
 * @param offer The model as published when the answer got its slot.
 * @param meter What read along.
 * @param times When it all was.
 */
export function observationOf(
  attempt: Attempt,
  offer: Offer,
  meter: AnswerMeter,
  times: AnswerTimes,
): AnswerObservation {
  const { tally, content } = meter;
  const { timings } = tally;
  const took = times.endedAtMs - times.startedAtMs;
  const gaps = tally.outputTokens - 1;
  let prefillMs: number | null = timings?.promptMs ?? null;
  let decodeMs: number | null = timings?.outputMs ?? null;
  if (timings === null && offer.state.kind === "warm") {
    if (!decodes(attempt.request.capability)) prefillMs = took;
    else if (content !== null) {
      prefillMs = content.firstMs - times.startedAtMs;
      decodeMs = gaps > 0
        ? (content.lastMs - content.firstMs) * tally.outputTokens / gaps
        : null;
    }
  }
  const counted = (timings?.promptTokens ?? 0) + (timings?.cachedTokens ?? 0);
  return {
    work: workOf(attempt),
    concurrency: times.concurrency,
    prefillMs,
    uncachedShare: timings === null || counted === 0
      ? 1
      : timings.promptTokens / counted,
    decodeMs,
    outputTokens: tally.outputTokens,
    cut: tally.cut,
    loadTimeMs: times.loadTimeMs,
    serviceMs: took,
    contentEvents: tally.contentEvents,
    sampled: times.sampled,
  };
}

/** The part of an attempt that costs time. */
export function workOf(attempt: Attempt): Work {
  return {
    capability: attempt.request.capability,
    promptTokens: attempt.request.promptTokens,
    outputTokens: attempt.expectedOutputTokens,
    cachedTokens: attempt.cachedTokens ?? 0,
  };
}
