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
  if (elapsedMs <= 0) return queue;
  const running = queue.runningMs.toSorted((a, b) => a - b);
  const waiting = [...queue.waitingMs];
  let leftMs = elapsedMs;
  for (;;) {
    const soonest = running[0];
    if (soonest === undefined || soonest > leftMs) break;
    running.shift();
    leftMs -= soonest;
    for (let at = 0; at < running.length; at++) {
      running[at] = (running[at] ?? 0) - soonest;
    }
    const next = waiting.shift();
    if (next !== undefined) insertSorted(running, next);
  }
  return {
    slots: queue.slots,
    runningMs: running.map((ms) => ms - leftMs),
    waitingMs: waiting,
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
        kind: "loading",
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

function insertSorted(sorted: number[], value: number): void {
  const at = sorted.findIndex((other) => other > value);
  sorted.splice(at < 0 ? sorted.length : at, 0, value);
}
