import type { QueueReport } from "../domain/mod.ts";
import type { Candidate } from "./candidate.ts";
import { queueWait } from "./queue_wait.ts";

/** An attempt that waits unstarted, as far as moving it is concerned. */
export interface WaitingPlace {
  /** Key of the engine it waits for. */
  readonly key: string;
  /** Predicted milliseconds from now until it is over there. */
  readonly leftMs: number;
  /** Round trip to that engine's node. */
  readonly hopMs: number;
}

/** A move must gain this share (routing study, B4) … */
const GAIN = 1.25;
/** … and this much more, beside the round trips it costs. */
const LEAST_GAIN_MS = 20;

/**
 * Predict how long an attempt still waits for its slot. Pure.
 *
 * @param queue Its device's queue as it is now, with the attempt in it.
 * @param ahead How many that wait are to start before it.
 * @returns Milliseconds.
 */
export function waitBehind(queue: QueueReport, ahead: number): number {
  const before = { ...queue, waitingMs: queue.waitingMs.slice(0, ahead) };
  return queueWait(before, []).waitMs;
}

/**
 * Find where an attempt that waits unstarted should go instead: an engine with
 * a free slot that would finish it earlier by the margins of design.md 6. What
 * the other engine has to prefill again is part of its estimate. Pure.
 *
 * @param candidates Eligible candidates, estimated now; those that a request would wait for are passed over.
 * @param place Where it waits.
 * @returns The soonest such candidate, or null.
 */
export function moveTarget(
  candidates: readonly Candidate[],
  place: WaitingPlace,
): Candidate | null {
  let best: Candidate | null = null;
  for (const one of candidates) {
    if (one.engine.key === place.key || !isFree(one)) continue;
    const { estimateMs, factor, terms } = one.estimate;
    const neededMs = (estimateMs + terms.evictionMs * factor) * GAIN +
      LEAST_GAIN_MS + place.hopMs +
      one.engine.view.hop.medianMs;
    if (neededMs > place.leftMs) continue;
    if (best === null || estimateMs < best.estimate.estimateMs) best = one;
  }
  return best;
}

function isFree({ estimate, offer }: Candidate): boolean {
  const { runningMs, waitingMs, slots } = offer.queue;
  return estimate.terms.queueMs === 0 && waitingMs.length === 0 &&
    runningMs.length < slots;
}
