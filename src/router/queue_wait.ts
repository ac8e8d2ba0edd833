import { type QueueReport, QueueRoom } from "../domain/mod.ts";

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
  const play = new QueuePlay();
  play.play(queue, 0, unseenMs);
  const { waitMs, concurrency } = play;
  return { waitMs, concurrency };
}

/** Plays queues forward, one after the other, in the same room. */
export class QueuePlay implements QueueWait {
  waitMs = 0;
  concurrency = 1;
  readonly #room = new QueueRoom();

  /**
   * Play one, as `queueWait` does.
   *
   * @param elapsedMs Local time since the queue was reported.
   */
  play(
    queue: QueueReport,
    elapsedMs: number,
    unseenMs: readonly number[],
  ): void {
    const room = this.#room;
    room.enter(queue, elapsedMs);
    const slots = Math.max(1, queue.slots);
    const { started } = room;
    const reported = queue.waitingMs.length - started;
    const ahead = reported + unseenMs.length;
    if (ahead === 0 && room.running < slots) {
      this.waitMs = 0;
      this.concurrency = room.running + 1;
      return;
    }
    let waitMs = 0;
    for (let at = 0; at <= ahead; at++) {
      // More may run than there are slots when the slots were just reduced.
      while (room.running >= slots) {
        waitMs = Math.max(waitMs, room.takeSoonest());
      }
      if (at === ahead) break;
      const workMs = at < reported
        ? queue.waitingMs[started + at]
        : unseenMs[at - reported];
      room.add(waitMs + (workMs ?? 0));
    }
    this.waitMs = waitMs;
    this.concurrency = room.running + 1;
  }

  /** Time until all has ended that was before the newcomer in the queue played last. */
  drainedMs(): number {
    const { endsMs, running } = this.#room;
    let lastMs = this.waitMs;
    for (let at = 0; at < running; at++) {
      lastMs = Math.max(lastMs, endsMs[at] ?? 0);
    }
    return lastMs;
  }
}
