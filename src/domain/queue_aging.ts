import type { LoadState, QueueReport } from "./engine.ts";
import { QueueRoom } from "./queue_room.ts";

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
  const room = new QueueRoom();
  room.enter(queue, elapsedMs);
  const { endsMs, running, started } = room;
  return {
    slots: queue.slots,
    runningMs: endsMs.slice(0, running).sort((a, b) => a - b),
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
