import type { Attempt, Offer } from "../domain/mod.ts";
import type { AnswerMeter } from "./answer_meter.ts";
import { choicesOf } from "./choices.ts";
import { decodes, needsReload, type Work } from "./estimate.ts";
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
  const work = workOf(attempt, offer);
  const { timings } = tally;
  const took = times.endedAtMs - times.startedAtMs;
  const isWarm = offer.state.kind === "warm" && work.reloads !== true;
  const span = spanOf(meter, isWarm, times.startedAtMs);
  const { prefillMs, decodeMs } = decodes(attempt.request.capability)
    ? partsOf(span, tally.outputTokens)
    : { prefillMs: span?.firstMs ?? (isWarm ? took : null), decodeMs: null };
  const untilFirstMs = content === null
    ? took - (timings?.outputMs ?? 0)
    : content.firstMs - times.startedAtMs;
  const counted = (timings?.promptTokens ?? 0) + (timings?.cachedTokens ?? 0);
  const seen: AnswerObservation = {
    work,
    concurrency: times.concurrency,
    prefillMs,
    uncachedShare: timings === null || counted === 0
      ? 1
      : timings.promptTokens / counted,
    decodeMs,
    overheadMs: timings === null || !isWarm
      ? null
      : untilFirstMs - timings.promptMs,
    outputTokens: tally.outputTokens,
    cut: tally.cut,
    loadTimeMs: times.loadTimeMs,
    serviceMs: took,
    contentEvents: tally.contentEvents,
    sampled: times.sampled,
  };
  return work.choices === undefined ? seen : ofSeveral(seen, work.choices);
}

/** Answers that shared the engine among themselves show their length, and of its speed nothing. */
function ofSeveral(
  seen: AnswerObservation,
  choices: number,
): AnswerObservation {
  return {
    ...seen,
    prefillMs: null,
    decodeMs: null,
    overheadMs: null,
    outputTokens: seen.outputTokens / choices,
    contentEvents: 0,
  };
}

/** The time to the first token is at least so much prefill. */
const LEAST_PREFILL = 0.1;

/** Time to the first token, and from there to the last. */
interface Span {
  readonly firstMs: number;
  readonly restMs: number;
}

/** By the engine's own clock, else by when content came, which says little of a prefill after a load. */
function spanOf(
  { tally: { timings }, content }: AnswerMeter,
  isWarm: boolean,
  startedAtMs: number,
): Span | null {
  if (timings !== null) {
    return { firstMs: timings.promptMs, restMs: timings.outputMs };
  }
  return isWarm && content !== null
    ? {
      firstMs: content.firstMs - startedAtMs,
      restMs: content.lastMs - content.firstMs,
    }
    : null;
}

/**
 * Divide an answer's time between prefill and decode. The first token comes
 * with the end of the prefill, in llama-server's timings as in a stream, so
 * that n tokens have n − 1 steps between them; an estimate reckons with n.
 */
function partsOf(
  span: Span | null,
  outputTokens: number,
): { readonly prefillMs: number | null; readonly decodeMs: number | null } {
  if (span === null) return { prefillMs: null, decodeMs: null };
  const { firstMs, restMs } = span;
  const steps = outputTokens - 1;
  if (steps < 1) return { prefillMs: firstMs, decodeMs: null };
  const stepMs = restMs / steps;
  return {
    prefillMs: Math.max(firstMs - stepMs, LEAST_PREFILL * firstMs),
    decodeMs: restMs + stepMs,
  };
}

/**
 * The part of an attempt that costs time.
 *
 * @param attempt What is asked.
 * @param offer The model as it is before.
 */
export function workOf(
  attempt: Attempt,
  offer: Pick<Offer, "contextLength" | "state">,
): Work {
  const { upkeep } = attempt.request;
  const choices = choicesOf(attempt.request);
  return {
    capability: attempt.request.capability,
    promptTokens: attempt.request.promptTokens,
    outputTokens: attempt.expectedOutputTokens,
    cachedTokens: attempt.cachedTokens ?? 0,
    ...(choices > 1 ? { choices } : {}),
    ...(needsReload(upkeep?.contextLength, offer) ? { reloads: true } : {}),
  };
}
