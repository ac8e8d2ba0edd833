/** A waiting attempt, as far as its turn depends on it. */
export interface WaitingWork {
  readonly enteredAtMs: number;
  readonly expectedMs: number;
}

/**
 * Choose whose turn it is: the largest waited ÷ √expected work, so that short
 * work passes long work without starving it (routing study, B5); the earlier
 * one among equals. Pure.
 *
 * @param waiting Who waits, in order of arrival.
 * @param nowMs Monotonic time.
 * @returns Its index, or -1 when nobody waits.
 */
export function nextInLine(
  waiting: readonly WaitingWork[],
  nowMs: number,
): number {
  let chosen = -1;
  let highest = -Infinity;
  for (const [index, one] of waiting.entries()) {
    const ratio = urgency(one, nowMs);
    if (ratio > highest) {
      highest = ratio;
      chosen = index;
    }
  }
  return chosen;
}

/**
 * The order in which waiting work would start if its turn came now.
 *
 * @param waiting Who waits, in order of arrival.
 * @param nowMs Monotonic time.
 * @returns The same, first to start first.
 */
export function inLine<T extends WaitingWork>(
  waiting: readonly T[],
  nowMs: number,
): readonly T[] {
  return waiting.toSorted((a, b) => urgency(b, nowMs) - urgency(a, nowMs));
}

function urgency(work: WaitingWork, nowMs: number): number {
  return (nowMs - work.enteredAtMs) / Math.sqrt(Math.max(work.expectedMs, 1));
}
