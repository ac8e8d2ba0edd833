import { type Clock, type Deadline, deadlineOn, sleepOn } from "./clock.ts";

interface Waiting {
  readonly id: number;
  readonly atMs: number;
  readonly everyMs: number | null;
  readonly call: () => void;
}

/**
 * A clock that stands still until a test moves it. Wake-ups happen in order of
 * time, then of registration, and each is followed by a turn of the real event
 * loop, since WebCrypto and streams settle outside the microtask queue.
 */
export class ManualClock implements Clock {
  #nowMs: number;
  #startMs: number;
  #waiting: Waiting[] = [];
  #nextId = 0;
  readonly #turn: () => Promise<void>;

  /**
   * Start a clock.
   *
   * @param startMs Wall-clock time at the start, in milliseconds since the epoch.
   * @param turn A turn of the real event loop. A shorter one than a timer's is
   *   for tests in which nothing happens off the main thread.
   */
  constructor(
    startMs = 1_800_000_000_000,
    turn: () => Promise<void> = timerTurn,
  ) {
    this.#startMs = startMs;
    this.#turn = turn;
    this.#nowMs = 0;
  }

  now(): number {
    return this.#startMs + this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  /** Move the wall clock alone, as an administrator or NTP would. */
  setNow(ms: number): void {
    this.#startMs = ms - this.#nowMs;
  }

  /** Number of timers that wait. */
  get pending(): number {
    return this.#waiting.length;
  }

  after(ms: number, call: () => void): Disposable {
    return this.#add(ms, null, call);
  }

  every(ms: number, call: () => void): Disposable {
    return this.#add(ms, Math.max(ms, 1), call);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  deadline(ms: number, parent?: AbortSignal): Deadline {
    return deadlineOn(this, ms, parent);
  }

  /**
   * Move time forward, waking whatever is due on the way.
   *
   * @param ms How far.
   */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await this.#turn();
    for (;;) {
      const next = this.#earliest(endMs);
      if (next === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      this.#waiting = this.#waiting.filter((other) => other.id !== next.id);
      if (next.everyMs !== null) {
        // Beats that were slept through are not made up for.
        const atMs = next.atMs + next.everyMs;
        this.#waiting.push({
          ...next,
          atMs: atMs > this.#nowMs ? atMs : this.#nowMs + next.everyMs,
        });
      }
      next.call();
      await this.#turn();
    }
    this.#nowMs = endMs;
    await this.#turn();
  }

  /**
   * Let time pass with nobody awake, as in a stopped process or one that is too
   * busy to look at its timers: what falls due meanwhile is woken late.
   *
   * @param ms How long.
   */
  async pause(ms: number): Promise<void> {
    this.#nowMs += ms;
    await this.advance(0);
  }

  #earliest(endMs: number): Waiting | undefined {
    let found: Waiting | undefined;
    for (const one of this.#waiting) {
      if (one.atMs > endMs) continue;
      if (
        found === undefined || one.atMs < found.atMs ||
        (one.atMs === found.atMs && one.id < found.id)
      ) found = one;
    }
    return found;
  }

  #add(ms: number, everyMs: number | null, call: () => void): Disposable {
    const id = this.#nextId++;
    this.#waiting.push({
      id,
      atMs: this.#nowMs + Math.max(ms, 0),
      everyMs,
      call,
    });
    return {
      [Symbol.dispose]: () => {
        this.#waiting = this.#waiting.filter((one) => one.id !== id);
      },
    };
  }
}

function timerTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
