import type { Log } from "@covey/core/domain";

const QUIET_MS = 60_000;

/** Says once a minute that connections are turned away, however many there are. */
export class TurnedAwayLog {
  readonly #log: Log;
  #loggedMs: number | null = null;
  #unlogged = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * Note one.
   *
   * @param address Where it came from.
   * @param nowMs Monotonic time now.
   */
  note(address: string, nowMs: number): void {
    if (this.#loggedMs !== null && nowMs - this.#loggedMs < QUIET_MS) {
      this.#unlogged++;
      return;
    }
    this.#loggedMs = nowMs;
    this.#log.warn(
      "Connections of strangers are turned away: too many are open",
      {
        address,
        unloggedBefore: this.#unlogged === 0 ? undefined : this.#unlogged,
      },
    );
    this.#unlogged = 0;
  }
}
