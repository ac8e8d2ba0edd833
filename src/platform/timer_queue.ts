/** The runtime's own timers. */
export interface RuntimeTimer {
  /** Monotonic time in milliseconds. */
  now(): number;
  /**
   * Call back later.
   *
   * @param ms How long.
   * @returns Takes the call back.
   */
  set(ms: number, call: () => void): () => void;
}

interface Entry {
  dueMs: number;
  /** Order among those that are due at once. */
  order: number;
  /** Null once it was taken back. */
  call: (() => void) | null;
  /** Milliseconds between its calls, or null where there is just one. */
  readonly everyMs: number | null;
}

/** Fewer that were taken back are not worth clearing away. */
const LEAST_STALE = 64;
/** A runtime's timer may ring a little before its time. */
const EARLY_MS = 0.5;

/**
 * Many timers on one of the runtime. Of a request's time-outs next to none ever
 * rings, and setting and clearing one of the runtime's costs some 20 µs: here
 * that is a place in a heap, and the runtime is asked only where a timer is due
 * before all others. One that was taken back leaves the runtime's timer set, as
 * long as there are others: it rings for nothing, once.
 */
export class TimerQueue {
  readonly #runtime: RuntimeTimer;
  #heap: Entry[] = [];
  #live = 0;
  #orders = 0;
  #armedMs = Infinity;
  #disarm: (() => void) | null = null;

  /** @param runtime What rings. */
  constructor(runtime: RuntimeTimer) {
    this.#runtime = runtime;
  }

  /**
   * Call back later.
   *
   * @param ms How long.
   * @param call What to call.
   * @param isRepeated Whether again and again.
   * @returns Disposing it takes the call back.
   */
  add(ms: number, call: () => void, isRepeated: boolean): Disposable {
    const entry: Entry = {
      dueMs: this.#runtime.now() + Math.max(0, ms),
      order: this.#orders++,
      call,
      everyMs: isRepeated ? Math.max(1, ms) : null,
    };
    this.#live++;
    this.#push(entry);
    this.#arm();
    return { [Symbol.dispose]: () => this.#takeBack(entry) };
  }

  #takeBack(entry: Entry): void {
    if (entry.call === null) return;
    entry.call = null;
    this.#live--;
    if (this.#live === 0) {
      this.#heap = [];
      this.#rest();
    } else if (this.#heap.length > LEAST_STALE + 2 * this.#live) {
      const live = this.#heap.filter(({ call }) => call !== null);
      this.#heap = [];
      for (const one of live) this.#push(one);
    }
  }

  #rest(): void {
    this.#disarm?.();
    this.#disarm = null;
    this.#armedMs = Infinity;
  }

  #arm(): void {
    const next = this.#heap[0];
    if (next === undefined || next.dueMs >= this.#armedMs) return;
    this.#rest();
    this.#armedMs = next.dueMs;
    this.#disarm = this.#runtime.set(
      Math.max(0, next.dueMs - this.#runtime.now()),
      () => this.#ring(),
    );
  }

  #ring(): void {
    this.#disarm = null;
    this.#armedMs = Infinity;
    const untilMs = this.#runtime.now() + EARLY_MS;
    // What is added meanwhile has its turn with the next ring.
    const untilOrder = this.#orders;
    try {
      for (;;) {
        const next = this.#heap[0];
        if (next === undefined || next.dueMs > untilMs) return;
        if (next.order >= untilOrder) return;
        this.#pop();
        this.#call(next);
      }
    } finally {
      // Also where one of them threw.
      this.#arm();
    }
  }

  #call(entry: Entry): void {
    const { call, everyMs } = entry;
    if (call === null) return;
    if (everyMs === null) {
      entry.call = null;
      this.#live--;
    } else {
      const nowMs = this.#runtime.now();
      // Beats that were slept through are not made up for.
      entry.dueMs = entry.dueMs + everyMs > nowMs
        ? entry.dueMs + everyMs
        : nowMs + everyMs;
      entry.order = this.#orders++;
      this.#push(entry);
    }
    call();
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(entry, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      let child = heap[below];
      if (child === undefined) break;
      const right = heap[below + 1];
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        below++;
      }
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.dueMs < other.dueMs ||
    (one.dueMs === other.dueMs && one.order < other.order);
}
