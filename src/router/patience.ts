import type { TimeLimits } from "./time_limits.ts";

/** An engine that works for others is waited for, but not longer than so many time-outs. */
const MOST_PATIENCE = 10;
/** Whoever is waited for without a sign of its own is looked at again so often. */
const LOOK_EVERY_MS = 5000;

/** What is known of an attempt whose first limit has passed, and of its engine. Times are monotonic. */
export interface Waited {
  readonly sentAtMs: number;
  readonly nowMs: number;
  /** When the engine last sent anything, to whomever; 0 for never. */
  readonly aliveAtMs: number;
  /** Whether the engine still offers the model: it does not once its server is held to be gone. */
  readonly isThere: boolean;
}

/**
 * Until when an engine that has said nothing yet is waited for. One that
 * answers others meanwhile gets its time anew with each answer. An answer that
 * is no stream shows nothing until all of it is there, which may take as long
 * as its limit allows: it is waited for while its engine is there, and no
 * longer, since the packets of a host that is gone simply vanish (RTE-06). Pure.
 *
 * @param limits The attempt's own.
 * @param waited What is known now.
 * @returns A monotonic time; not after `nowMs` where it is over.
 */
export function patientUntilMs(
  { firstByteMs, wholeMs }: TimeLimits,
  { aliveAtMs, isThere, nowMs, sentAtMs }: Waited,
): number {
  const limitMs = isThere ? wholeMs : firstByteMs;
  const worksUntilMs = Math.min(
    aliveAtMs + limitMs,
    sentAtMs + MOST_PATIENCE * limitMs,
  );
  return Math.min(
    Math.max(sentAtMs + limitMs, worksUntilMs),
    wholeMs > firstByteMs ? nowMs + LOOK_EVERY_MS : Infinity,
  );
}
