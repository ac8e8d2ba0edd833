import type { AttemptId } from "../domain/mod.ts";

const REMEMBERED_MS = 600_000;
const MOST_IDS = 65_536;

/**
 * Attempts that arrived in the last ten minutes. A connection that died may
 * have delivered its request all the same; the second arrival must not run.
 */
export class AttemptMemory {
  /** Id to the moment it may be forgotten, oldest first. */
  readonly #until = new Map<AttemptId, number>();

  /**
   * Take an arrival in.
   *
   * @param id The attempt.
   * @param nowMs Monotonic time.
   * @returns False when it had arrived before.
   */
  admit(id: AttemptId, nowMs: number): boolean {
    for (const [old, untilMs] of this.#until) {
      if (untilMs > nowMs && this.#until.size < MOST_IDS) break;
      this.#until.delete(old);
    }
    if (this.#until.has(id)) return false;
    this.#until.set(id, nowMs + REMEMBERED_MS);
    return true;
  }
}
