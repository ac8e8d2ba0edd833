import type { Clock, Deadline } from "../../src/platform/mod.ts";
import { deadlineOn, sleepOn } from "../../src/platform/clock.ts";

interface Event {
  readonly atMs: number;
  readonly number: number;
  call: (() => void) | null;
}

/** More than any chain of promises in the router's watching is long. */
const PROMISE_TURNS = 8;

/**
 * Time that jumps from event to event: a binary heap ordered by time, then by
 * registration. A clock like any other, so that the router's own queues run on it.
 */
export class VirtualClock implements Clock {
  readonly #heap: Event[] = [];
  #nowMs = 0;
  #number = 0;
  #stopped = false;
  #isUnsettled = false;

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  after(ms: number, call: () => void): Disposable {
    const event: Event = {
      atMs: this.#nowMs + Math.max(ms, 0),
      number: this.#number++,
      call,
    };
    this.#push(event);
    return {
      [Symbol.dispose]: () => {
        event.call = null;
      },
    };
  }

  every(ms: number, call: () => void): Disposable {
    let next: Disposable;
    const again = () => {
      next = this.after(ms, again);
      call();
    };
    next = this.after(ms, again);
    return { [Symbol.dispose]: () => next[Symbol.dispose]() };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  deadline(ms: number, parent?: AbortSignal): Deadline {
    return deadlineOn(this, ms, parent);
  }

  /** Let events happen until `stop` is called or none is left. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      const event = this.#pop();
      if (event === undefined) return;
      if (event.call === null) continue;
      this.#nowMs = event.atMs;
      event.call();
      while (this.#isUnsettled) {
        this.#isUnsettled = false;
        for (let turn = 0; turn < PROMISE_TURNS; turn++) await null;
      }
    }
  }

  /** Let promises that were resolved just now be heard before the next event. */
  settle(): void {
    this.#isUnsettled = true;
  }

  /** End the run after the event that happens now. */
  stop(): void {
    this.#stopped = true;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || isBefore(parent, event)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || top === last) return top;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      let child = heap[down];
      if (child === undefined) break;
      const right = heap[down + 1];
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        down++;
      }
      if (isBefore(last, child)) break;
      heap[at] = child;
      at = down;
    }
    heap[at] = last;
    return top;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);
}
