import type { Clock } from "@covey/core/platform";

/** Most requests that wait for a connection to one member. */
const MOST_WAITING = 1024;

/** A request found no connection in its time, which says nothing of the member. */
export class NoTurnError extends Error {
  override readonly name = "NoTurnError";
}

/** How long a request waits, and what takes it back. */
export interface TurnLimits {
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

interface Waiting {
  begin(): void;
  fail(error: unknown): void;
}

/**
 * Requests to one member that wait for a connection, first come, first served.
 * A handshake costs both ends milliseconds of processor time: sixty at once
 * would all be late, where one after the other none is.
 */
export class DialTurns {
  readonly #clock: Clock;
  readonly #hasRoom: () => boolean;
  readonly #waiting = new Set<Waiting>();

  /**
   * @param clock For the limits of those who wait.
   * @param hasRoom Whether a request that begins now has a connection, or may dial one.
   */
  constructor(clock: Clock, hasRoom: () => boolean) {
    this.#clock = clock;
    this.#hasRoom = hasRoom;
  }

  /**
   * Begin a request when there is room for it.
   *
   * @param open Begins it, and takes its connection at once.
   * @param limits How long it waits.
   * @throws {NoTurnError} When its time passed, or too many wait; or the signal's reason.
   */
  async begin<Result>(
    open: () => Promise<Result>,
    { limitMs, signal }: TurnLimits,
  ): Promise<Result> {
    if (this.#waiting.size === 0 && this.#hasRoom()) return await open();
    if (this.#waiting.size >= MOST_WAITING) {
      throw new NoTurnError(
        `${MOST_WAITING} requests wait for a connection already`,
      );
    }
    const turn = Promise.withResolvers<Result>();
    const leave = () => {
      this.#waiting.delete(one);
      timer[Symbol.dispose]();
      signal.removeEventListener("abort", onAbort);
    };
    const one: Waiting = {
      begin() {
        leave();
        turn.resolve(open());
      },
      fail(error) {
        leave();
        turn.reject(error);
      },
    };
    const onAbort = () => one.fail(signal.reason);
    const timer = this.#clock.after(
      limitMs,
      () =>
        one.fail(
          new NoTurnError(`No connection was free within ${limitMs} ms`),
        ),
    );
    signal.addEventListener("abort", onAbort, { once: true });
    this.#waiting.add(one);
    return await turn.promise;
  }

  /** There may be room: a connection idles or ended, or a dial did. */
  advance(): void {
    if (this.#waiting.size === 0) return;
    // The pool tells before it has put its books in order.
    queueMicrotask(() => {
      for (const one of this.#waiting) {
        if (!this.#hasRoom()) return;
        one.begin();
      }
    });
  }

  /** Nobody can get through: who waits hears why. */
  fail(error: unknown): void {
    for (const one of [...this.#waiting]) one.fail(error);
  }
}
