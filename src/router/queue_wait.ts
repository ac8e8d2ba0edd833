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
  // Times at which slots fall free; only the first `taken` of them count.
  const freeAtMs = queue.runningMs.slice();
  let taken = running;
  let waitMs = 0;
  for (let at = 0; at <= ahead; at++) {
    // More may run than there are slots when the slots were just reduced.
    while (taken >= slots) {
      waitMs = Math.max(waitMs, bringSoonestToEnd(freeAtMs, taken));
      taken--;
    }
    if (at === ahead) break;
    const workMs = at < queue.waitingMs.length
      ? queue.waitingMs[at]
      : unseenMs[at - queue.waitingMs.length];
    freeAtMs[taken++] = waitMs + (workMs ?? 0);
  }
  return { waitMs, concurrency: taken + 1 };
}

/** A device has few slots: looking through them is quicker than keeping them sorted. */
function bringSoonestToEnd(times: number[], count: number): number {
  let at = count - 1;
  const last = times[at] ?? 0;
  let soonest = last;
  for (let other = 0; other < count; other++) {
    const time = times[other] ?? 0;
    if (time >= soonest) continue;
    soonest = time;
    at = other;
  }
  times[at] = last;
  times[count - 1] = soonest;
  return soonest;
}
