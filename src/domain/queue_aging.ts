import type { LoadState, QueueReport } from "./engine.ts";

/**
 * Bring a queue report forward: what was expected to run has run, what waited
 * has taken its slot. Only local time passes; no two clocks are compared.
 *
 * @param queue As the member stated it.
 * @param elapsedMs Local time since it came.
 * @returns The queue as it should look now.
 */
export function ageQueue(queue: QueueReport, elapsedMs: number): QueueReport {
  if (elapsedMs <= 0 || queue.runningMs.length === 0) return queue;
  const running = sorted(queue.runningMs);
  let started = 0;
  // Ends stay counted from the report, and are compared with what has passed.
  for (;;) {
    const soonest = running[0];
    if (soonest === undefined || soonest > elapsedMs) break;
    running.shift();
    const next = queue.waitingMs[started];
    if (next === undefined) continue;
    started++;
    insertSorted(running, soonest + next);
  }
  for (let at = 0; at < running.length; at++) {
    running[at] = (running[at] ?? 0) - elapsedMs;
  }
  return {
    slots: queue.slots,
    runningMs: running,
    waitingMs: started === 0 ? queue.waitingMs : queue.waitingMs.slice(started),
  };
}

/**
 * Bring a load state forward by the same rule.
 *
 * @param elapsedMs Local time since it came.
 */
export function ageLoadState(state: LoadState, elapsedMs: number): LoadState {
  switch (state.kind) {
    case "cold":
    case "warm":
      return state;
    case "loading":
      return {
        ...state,
        remainingMs: Math.max(0, state.remainingMs - elapsedMs),
      };
    case "failed":
      return {
        kind: "failed",
        reason: state.reason,
        retryInMs: Math.max(0, state.retryInMs - elapsedMs),
      };
    default: {
      const never: never = state;
      return never;
    }
  }
}

function sorted(values: readonly number[]): number[] {
  const copy = values.slice();
  for (let at = 1; at < copy.length; at++) sink(copy, at);
  return copy;
}

function insertSorted(values: number[], value: number): void {
  values.push(value);
  sink(values, values.length - 1);
}

/** Bring one value forward to its place among those before it, which are sorted. */
function sink(values: number[], from: number): void {
  const value = values[from] ?? 0;
  let at = from;
  for (; at > 0 && (values[at - 1] ?? 0) > value; at--) {
    values[at] = values[at - 1] ?? 0;
  }
  values[at] = value;
}
