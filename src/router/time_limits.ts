import type { InferenceRequest, Offer } from "../domain/mod.ts";
import { choicesOf } from "./choices.ts";
import type { Estimate } from "./estimate.ts";

const LEAST_FIRST_BYTE_MS = 15_000;
const FIRST_BYTE_FACTOR = 3;
const LEAST_IDLE_MS = 15_000;
const IDLE_TOKENS = 20;
/** An answer that is no stream may be as long as its limit allows, and slower than predicted. */
const WHOLE_ANSWER_FACTOR = 1.5;

/** How long an attempt may be silent, in milliseconds. */
export interface TimeLimits {
  /** From the dispatch to the first content. */
  readonly firstByteMs: number;
  /** To the whole of an answer that is no stream, as long as its engine is there; `firstByteMs` for a stream. */
  readonly wholeMs: number;
  /** Between two pieces of a stream. */
  readonly idleMs: number;
}

/**
 * Set an attempt's time limits from its prediction (design.md 6). Pure.
 *
 * @param request The request.
 * @param offer The model it goes to.
 * @param predicted The estimate there.
 */
export function timeLimits(
  request: InferenceRequest,
  offer: Offer,
  predicted: Estimate,
): TimeLimits {
  const firstByteMs = Math.max(
    LEAST_FIRST_BYTE_MS,
    FIRST_BYTE_FACTOR * predicted.estimateMs,
  );
  // At worst all its answers are written one after the other.
  const longest = choicesOf(request) * Math.min(
    request.maxOutputTokens ?? Infinity,
    offer.contextLength,
  );
  const wholeMs = predicted.estimateMs +
    WHOLE_ANSWER_FACTOR * longest * predicted.tpotMs;
  return {
    firstByteMs,
    wholeMs: request.stream ? firstByteMs : Math.max(firstByteMs, wholeMs),
    idleMs: Math.max(LEAST_IDLE_MS, IDLE_TOKENS * predicted.tpotMs),
  };
}
