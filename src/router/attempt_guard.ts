import { Fault } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";

/**
 * Ends one attempt when its client leaves or its engine is silent for too long.
 * Its signal goes to the engine; whatever the attempt waits for is raced
 * against it.
 */
export class AttemptGuard implements Disposable {
  readonly #clock: Clock;
  readonly #client: AbortSignal;
  readonly #control = new AbortController();
  readonly #onClient = () => this.cancel(this.#client.reason);
  #cancelled = false;
  #dueAtMs = Infinity;
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
    this.#dueAtMs = this.#clock.monotonic() + ms;
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
    const waitMs = Math.max(0, this.#dueAtMs - this.#clock.monotonic());
    this.#armed = {
      atMs: this.#dueAtMs,
      timer: this.#clock.after(waitMs, () => this.#ring()),
    };
  }

  #ring(): void {
    this.#armed = null;
    const nowMs = this.#clock.monotonic();
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
