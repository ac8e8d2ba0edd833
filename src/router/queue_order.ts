import { ClientTurns, type Turns } from "./client_turns.ts";

/** A waiting attempt, as far as its turn depends on it. */
export interface WaitingWork {
  readonly enteredAtMs: number;
  readonly expectedMs: number;
  /** Whose it is: clients take turns. */
  readonly client: string;
}

const NO_TURNS: Turns = new ClientTurns();

/**
 * Choose whose turn it is. Clients come first who have not had more than their
 * share; if there are none, those who had least beyond it. Among their work it
 * is the largest waited ÷ √expected work, so that short work passes long work
 * without starving it (routing study, B5); the earlier one among equals. Pure.
 *
 * @param waiting Who waits, in order of arrival.
 * @param nowMs Monotonic time.
 * @param turns What each client has had; nothing if left out.
 * @returns Its index, or -1 when nobody waits.
 */
export function nextInLine(
  waiting: readonly WaitingWork[],
  nowMs: number,
  turns: Turns = NO_TURNS,
): number {
  let chosen = -1;
  let leastAhead = Infinity;
  let highest = -Infinity;
  for (const [index, one] of waiting.entries()) {
    const ahead = Math.max(turns.aheadMs(one.client), 0);
    if (ahead > leastAhead) continue;
    const ratio = urgency(one, nowMs);
    if (ahead === leastAhead && ratio <= highest) continue;
    leastAhead = ahead;
    highest = ratio;
    chosen = index;
  }
  return chosen;
}

/**
 * The order in which waiting work would start if every turn came now.
 *
 * @param waiting Who waits, in order of arrival.
 * @param nowMs Monotonic time.
 * @param turns What each client has had, and that these wait; not changed.
 * @returns The same, first to start first.
 */
export function inLine<T extends WaitingWork>(
  waiting: readonly T[],
  nowMs: number,
  turns: ClientTurns,
): readonly T[] {
  if (turns.competing < 2) {
    return waiting.toSorted((a, b) => urgency(b, nowMs) - urgency(a, nowMs));
  }
  const played = turns.copy();
  const line: T[] = [];
  const left = [...waiting];
  while (left.length > 0) {
    const [next] = left.splice(nextInLine(left, nowMs, played), 1);
    if (next === undefined) break;
    played.give(next.client, next.expectedMs);
    played.leave(next.client);
    line.push(next);
  }
  return line;
}

function urgency(work: WaitingWork, nowMs: number): number {
  return (nowMs - work.enteredAtMs) / Math.sqrt(Math.max(work.expectedMs, 1));
}
