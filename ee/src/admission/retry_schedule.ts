import type { AdmissionProblem } from "./admission_outcome.ts";

const FIRST_WAIT_MS = 10_000;
const FIRST_BUSY_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 600_000;
/** Share of a wait that chance adds, so that nodes started together spread out. */
const SPREAD = 0.25;

/** What is remembered of a sighting that did not become a member. */
export interface RetryState {
  /** The sighting as text (id, addresses, port): another text is another sighting. */
  readonly sighting: string;
  /** Failures in a row. */
  readonly failures: number;
  /** Monotonic time before which it is left alone. */
  readonly notBeforeMs: number;
}

/**
 * Tell whether an unknown sighting should be dialled: once at first sight,
 * then as the schedule says, and at once when it has changed.
 *
 * @param state What is remembered, or undefined for the first sight.
 * @param sighting The sighting as text.
 * @param nowMs Monotonic time now.
 * @returns True when it is time.
 */
export function isAdmissionDue(
  state: RetryState | undefined,
  sighting: string,
  nowMs: number,
): boolean {
  return state === undefined || state.sighting !== sighting ||
    nowMs >= state.notBeforeMs;
}

/**
 * Schedule the next try after one that led to no member: 10 s, doubling up to
 * 10 minutes. A peer that was only busy is asked again from 1 s on.
 *
 * @param state What is remembered, or undefined after the first try.
 * @param sighting The sighting as text.
 * @param problem How the try ended; `refused` for a peer's proved refusal.
 * @param nowMs Monotonic time now.
 * @param chance A number in [0, 1) that spreads the tries of several nodes.
 * @returns What to remember.
 */
export function scheduleAdmission(
  state: RetryState | undefined,
  sighting: string,
  problem: AdmissionProblem | "refused",
  nowMs: number,
  chance: number,
): RetryState {
  const before = state?.sighting === sighting ? state.failures : 0;
  const first = problem === "busy" ? FIRST_BUSY_WAIT_MS : FIRST_WAIT_MS;
  const waitMs = Math.min(
    first * 2 ** Math.min(before, 20) * (1 + SPREAD * chance),
    LONGEST_WAIT_MS,
  );
  return { sighting, failures: before + 1, notBeforeMs: nowMs + waitMs };
}
