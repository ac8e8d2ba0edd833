import { Fault } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";

/** A silence is watched in so many parts, so that a pause of this node shows. */
const SLICES = 4;
/** A timer that rings later than this was held up, and all reading with it. */
const HELD_UP_MS = 250;

/**
 * Ends one attempt when its client leaves or its engine is silent for too long.
 * Its signal goes to the engine; whatever the attempt waits for is raced
 * against it. Time in which this node itself stood still (stopped, or too busy
 * to read) is no silence of the engine's, but for a quarter of the limit, below
 * which it can not be told.
 */
export class AttemptGuard implements Disposable {
  readonly #clock: Clock;
  readonly #client: AbortSignal;
  readonly #control = new AbortController();
  readonly #onClient = () => this.cancel(this.#client.reason);
  #cancelled = false;
  #dueAtMs = Infinity;
  #allowedAtMs = 0;
  #sliceMs = 0;
  #silence = "";
  #moreUntilMs: (() => number) | null = null;
  #armed: { readonly atMs: number; readonly timer: Disposable } | null = null;

  /**
   * @param clock Time.
   * @param client Aborted when the client leaves.
   */
  constructor(clock: Clock, client: AbortSignal) {
    this.#clock = clock;
    this.#client = client;
    if (client.aborted) this.#onClient();
    else client.addEventListener("abort", this.#onClient, { once: true });
  }

  /** Aborted with a fault when the engine was too slow, with anything else when the client left. */
  get signal(): AbortSignal {
    return this.#control.signal;
  }

  /** Whether the client left, as opposed to a silent engine. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** End the attempt because nobody wants its answer any more. */
  cancel(reason?: unknown): void {
    if (this.#control.signal.aborted) return;
    this.#cancelled = true;
    this.#control.abort(reason);
  }

  /**
   * Allow silence from now on for so long.
   *
   * @param ms How long; the time-out before is replaced.
   * @param silence What the fault says when it is over.
   * @param moreUntilMs Asked when it is over: a later monotonic time grants more.
   */
  allow(ms: number, silence: string, moreUntilMs?: () => number): void {
    // Who reads on after the end is told of it, and waits for nothing.
    if (this.#control.signal.aborted) return;
    this.#allowedAtMs = this.#clock.monotonic();
    this.#dueAtMs = this.#allowedAtMs + ms;
    this.#sliceMs = ms / SLICES;
    this.#silence = silence;
    this.#moreUntilMs = moreUntilMs ?? null;
    this.#arm();
  }

  /** Allow silence without end: nothing is waited for. */
  relax(): void {
    // The timer stays armed: a token a millisecond must not cost a timer each.
    this.#dueAtMs = Infinity;
    this.#moreUntilMs = null;
  }

  /**
   * Wait for something, but no longer than the attempt lives.
   *
   * @param work What is waited for.
   * @param late Called with its result when that comes after the end.
   * @throws The signal's reason, or what the work threw.
   */
  race<T>(work: Promise<T>, late: (result: T) => void): Promise<T> {
    const { signal } = this.#control;
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      work.then((result) => {
        signal.removeEventListener("abort", onAbort);
        if (signal.aborted) late(result);
        else resolve(result);
      }, (thrown) => {
        signal.removeEventListener("abort", onAbort);
        reject(thrown);
      });
    });
  }

  [Symbol.dispose](): void {
    this.#client.removeEventListener("abort", this.#onClient);
    this.#armed?.timer[Symbol.dispose]();
    this.#armed = null;
    this.#dueAtMs = Infinity;
  }

  #arm(): void {
    if (this.#armed !== null && this.#armed.atMs <= this.#dueAtMs) return;
    this.#armed?.timer[Symbol.dispose]();
    this.#armed = null;
    if (!Number.isFinite(this.#dueAtMs)) return;
    const nowMs = this.#clock.monotonic();
    const atMs = Math.max(
      nowMs,
      Math.min(this.#dueAtMs, nowMs + this.#sliceMs),
    );
    this.#armed = {
      atMs,
      timer: this.#clock.after(atMs - nowMs, () => this.#ring(atMs)),
    };
  }

  #ring(armedAtMs: number): void {
    this.#armed = null;
    const nowMs = this.#clock.monotonic();
    const heldUpMs = nowMs - armedAtMs;
    if (heldUpMs > HELD_UP_MS) {
      // What came meanwhile is yet to be read.
      this.#dueAtMs = Math.max(
        this.#dueAtMs + Math.min(heldUpMs, nowMs - this.#allowedAtMs),
        nowMs + this.#sliceMs,
      );
    }
    if (Number.isFinite(this.#dueAtMs) && this.#dueAtMs <= nowMs) {
      this.#dueAtMs = Math.max(this.#dueAtMs, this.#moreUntilMs?.() ?? 0);
    }
    if (this.#dueAtMs > nowMs) this.#arm();
    else {
      this.#control.abort(
        new Fault("engine_timeout", this.#silence, { origin: "covey" }),
      );
    }
  }
}
