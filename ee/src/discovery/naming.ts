import type { Entropy } from "@covey/core/platform";
import { drawServiceNames, type ServiceNames } from "./dns/service_records.ts";

/**
 * Conflicts in `CONFLICT_WINDOW_MS` after which every further try waits. RFC
 * 6762, 8.1 asks for that after 15 in 10 s; with random names even 15 in a
 * minute are somebody's doing.
 */
const MOST_CONFLICTS = 15;
const CONFLICT_WINDOW_MS = 60_000;
const CONFLICT_WAIT_MS = 5_000;
/** Records remembered as sent by this node itself. */
const MOST_REMEMBERED = 512;

/**
 * The names that this node goes by, on all interfaces alike, and what it has
 * said under them: that is how an echo is told from a conflict. Time is an
 * argument: monotonic milliseconds.
 */
export class Naming {
  readonly #entropy: Entropy;
  readonly #sent = new Set<string>();
  readonly #verified = new Set<string>();
  #names: ServiceNames;
  #conflictsMs: number[] = [];

  constructor(entropy: Entropy) {
    this.#entropy = entropy;
    this.#names = drawServiceNames(entropy);
  }

  get names(): ServiceNames {
    return this.#names;
  }

  /** Take note of records that go out, by `recordKey`. */
  remember(keys: readonly string[]): void {
    for (const key of keys) {
      this.#sent.delete(key);
      this.#sent.add(key);
    }
    for (const oldest of this.#sent) {
      if (this.#sent.size <= MOST_REMEMBERED) break;
      this.#sent.delete(oldest);
    }
  }

  /** Whether this node itself has sent a record. */
  isOwn(key: string): boolean {
    return this.#sent.has(key);
  }

  /** Take note that the names were probed on an interface and nobody objected. */
  verify(interfaceName: string): void {
    this.#verified.add(interfaceName);
  }

  /** Whether the names may be announced on an interface without probing them again. */
  isVerified(interfaceName: string): boolean {
    return this.#verified.has(interfaceName);
  }

  /**
   * Count a conflict. The names must be probed anew everywhere.
   *
   * @param nowMs Monotonic time.
   * @returns How long to wait before that.
   */
  contest(nowMs: number): number {
    this.#verified.clear();
    this.#conflictsMs = [
      ...this.#conflictsMs.filter((ms) => nowMs - ms < CONFLICT_WINDOW_MS),
      nowMs,
    ].slice(-MOST_CONFLICTS);
    return this.#conflictsMs.length >= MOST_CONFLICTS ? CONFLICT_WAIT_MS : 0;
  }

  /** Take new names, since another node holds the old ones. */
  rename(): void {
    this.#names = drawServiceNames(this.#entropy);
    this.#sent.clear();
    this.#verified.clear();
  }
}
