import type { Log } from "@covey/core/domain";
import type { KeyHash } from "../identity/key_hash.ts";

const QUIET_MS = 60_000;
const MOST_KEYS = 256;

/**
 * Logs failed admissions once per key hash and minute. Strangers can make keys
 * at will, so it remembers at most 256 of them and counts the rest.
 */
export class FailureLog {
  readonly #log: Log;
  /** In order of time, since each key is set once and then left until it is dropped. */
  readonly #loggedMs = new Map<KeyHash, number>();
  #unlogged = 0;

  /**
   * @param log Where the lines go.
   */
  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * Note a failure.
   *
   * @param message What failed.
   * @param keyHash Who failed.
   * @param address From where.
   * @param nowMs Monotonic time now.
   * @returns Whether it was logged.
   */
  note(
    message: string,
    keyHash: KeyHash,
    address: string,
    nowMs: number,
  ): boolean {
    for (const [key, atMs] of this.#loggedMs) {
      if (nowMs - atMs < QUIET_MS) break;
      this.#loggedMs.delete(key);
    }
    if (this.#loggedMs.has(keyHash)) return false;
    if (this.#loggedMs.size >= MOST_KEYS) {
      this.#unlogged++;
      return false;
    }
    this.#loggedMs.set(keyHash, nowMs);
    this.#log.warn(message, {
      address,
      keyHash,
      unloggedBefore: this.#unlogged === 0 ? undefined : this.#unlogged,
    });
    this.#unlogged = 0;
    return true;
  }
}
