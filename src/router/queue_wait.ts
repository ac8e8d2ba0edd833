import type { QueueReport } from "../domain/mod.ts";

/** When a newcomer starts, and in what company. */
export interface QueueWait {
  /** Milliseconds until a slot is free for it. */
  readonly waitMs: number;
  /** Sequences that run side by side once it has started, itself included. */
  readonly concurrency: number;
}

/**
 * Play a device's queue forward: running attempts end, waiting ones take the
 * slots in order, and after them the newcomer.
 *
 * @param queue The device's queue as its owner reported it.
 * @param unseenMs Expected work of the entry's own dispatches that the report does not hold yet.
 * @returns The newcomer's wait; a device without slots is reckoned with one.
 */
export function queueWait(
  queue: QueueReport,
  unseenMs: readonly number[],
): QueueWait {
  const slots = Math.max(1, queue.slots);
  const running = queue.runningMs.length;
  const ahead = queue.waitingMs.length + unseenMs.length;
  if (running + ahead < slots) {
    return { waitMs: 0, concurrency: running + ahead + 1 };
  }
  // Times at which slots fall free, soonest first.
  const freeAtMs: number[] = [];
  for (const ms of queue.runningMs) insertSorted(freeAtMs, ms);
  let waitMs = 0;
  for (let at = 0; at <= ahead; at++) {
    // More may run than there are slots when the slots were just reduced.
    while (freeAtMs.length >= slots) {
      waitMs = Math.max(waitMs, freeAtMs.shift() ?? 0);
    }
    if (at === ahead) break;
    const workMs = at < queue.waitingMs.length
      ? queue.waitingMs[at]
      : unseenMs[at - queue.waitingMs.length];
    insertSorted(freeAtMs, waitMs + (workMs ?? 0));
  }
  return { waitMs, concurrency: freeAtMs.length + 1 };
}

function insertSorted(sorted: number[], value: number): void {
  let at = sorted.length;
  while (at > 0 && (sorted[at - 1] ?? 0) > value) at--;
  sorted.push(value);
  for (let to = sorted.length - 1; to > at; to--) {
    sorted[to] = sorted[to - 1] ?? value;
  }
  sorted[at] = value;
}
