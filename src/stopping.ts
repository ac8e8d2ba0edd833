import type { Log } from "./domain/mod.ts";
import type { Clock } from "./platform/mod.ts";

/** What a node that stops does to the rest of it. */
export interface StoppingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly router: {
    drain(draining: boolean): void;
    /** Requests of clients, and attempts of peers, that are not over. */
    inFlight(): number;
    /** End what runs with a word about why. */
    [Symbol.asyncDispose](): PromiseLike<void>;
  };
  /** Tell the peers at once. */
  readonly announce: () => void;
  /** Time that running answers have. */
  readonly limitMs: number;
}

/** Whoever asks for no answer, such as one who watches a pull, is waited for no longer. */
const OTHERS_MS = 5_000;
const LOOK_EVERY_MS = 50;
/** For the last words of answers that are broken off. */
const LAST_BYTES_MS = 500;

/**
 * A node's last minutes: it takes no more work and says so, and what runs for
 * its clients and its peers may end within a limit.
 */
export class Stopping {
  readonly #options: StoppingOptions;
  #beganMs: number | null = null;

  /** @param options Whom to tell and what to wait for. */
  constructor(options: StoppingOptions) {
    this.#options = options;
  }

  /** Take no more work, from now on. */
  begin(): void {
    if (this.#beganMs !== null) return;
    const { announce, clock, limitMs, log, router } = this.#options;
    this.#beganMs = clock.monotonic();
    router.drain(true);
    announce();
    const running = router.inFlight();
    if (running === 0) return;
    log.info("Waiting for running answers before the node stops", {
      running,
      limitMs,
    });
  }

  /**
   * Wait until requests that still run have had their time. Answers that take
   * longer are broken off, which their clients are told.
   *
   * @param signal Aborting it ends the wait.
   */
  async grace(signal: AbortSignal): Promise<void> {
    await this.#until(
      (sinceMs) => sinceMs >= OTHERS_MS && this.#isIdle(),
      signal,
    );
    if (signal.aborted || this.#isIdle()) return;
    await this.#breakOff();
    await this.#options.clock.sleep(LAST_BYTES_MS, signal).catch(() => {});
  }

  /** Wait until nothing runs for anybody, or its time is up. */
  async idle(): Promise<void> {
    await this.#until(() => this.#isIdle(), new AbortController().signal);
    if (!this.#isIdle()) await this.#breakOff();
  }

  async #breakOff(): Promise<void> {
    const { log, router } = this.#options;
    log.warn("Answers that did not end in time are broken off", {
      running: router.inFlight(),
    });
    await router[Symbol.asyncDispose]();
  }

  #isIdle(): boolean {
    return this.#options.router.inFlight() === 0;
  }

  async #until(
    isOver: (sinceMs: number) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, limitMs } = this.#options;
    const beganMs = this.#beganMs ?? clock.monotonic();
    for (;;) {
      const sinceMs = clock.monotonic() - beganMs;
      if (signal.aborted || sinceMs >= limitMs || isOver(sinceMs)) return;
      try {
        await clock.sleep(Math.min(LOOK_EVERY_MS, limitMs - sinceMs), signal);
      } catch {
        // Only the end of the wait ends it early.
        return;
      }
    }
  }
}
