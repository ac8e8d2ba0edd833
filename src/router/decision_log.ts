import {
  type ActualRecord,
  type AttemptId,
  type AttemptOutcome,
  type AttemptRecord,
  type DecisionId,
  type DecisionRecord,
  Fault,
  parseDecisionId,
} from "../domain/mod.ts";
import type { Entropy } from "../platform/mod.ts";

const KEPT = 1000;

/** How an attempt ended, for its record. */
export interface AttemptEnd {
  readonly endedAtMs: number;
  readonly outcome: AttemptOutcome;
  readonly reason: string | null;
}

/** The last thousand decisions. Each record is a value that is replaced as its attempts end. */
export class DecisionLog {
  /** Oldest first. */
  readonly #records = new Map<DecisionId, DecisionRecord>();

  /** Keep a decision, forgetting the oldest one beyond the limit. */
  add(record: DecisionRecord): void {
    this.#records.set(record.id, record);
    if (this.#records.size <= KEPT) return;
    for (const oldest of this.#records.keys()) {
      this.#records.delete(oldest);
      return;
    }
  }

  /** A decision as it stands, or undefined when it is forgotten. */
  get(id: DecisionId): DecisionRecord | undefined {
    return this.#records.get(id);
  }

  /**
   * The latest ones as they stand, newest first.
   *
   * @param limit How many at most.
   */
  latest(limit: number): readonly DecisionRecord[] {
    return limit <= 0 ? [] : [...this.#records.values()].slice(-limit)
      .reverse();
  }

  /** Note that an attempt began. */
  begin(id: DecisionId, attempt: AttemptRecord): void {
    this.#change(id, (record) => ({
      ...record,
      attempts: [...record.attempts, attempt],
    }));
  }

  /** Note how an attempt ended. */
  end(id: DecisionId, attempt: AttemptId, end: AttemptEnd): void {
    this.#change(id, (record) => ({
      ...record,
      attempts: record.attempts.map((one) =>
        one.id === attempt ? { ...one, ...end } : one
      ),
    }));
  }

  /** Note what came of the decision. */
  finish(id: DecisionId, actual: ActualRecord): void {
    this.#change(id, (record) => ({ ...record, actual }));
  }

  #change(
    id: DecisionId,
    change: (record: DecisionRecord) => DecisionRecord,
  ): void {
    const record = this.#records.get(id);
    if (record !== undefined) this.#records.set(id, change(record));
  }
}

/**
 * Make the id of a decision: its time, so that ids sort, and chance.
 *
 * @param nowMs Wall-clock time.
 * @param entropy Chance.
 */
export function newDecisionId(nowMs: number, entropy: Entropy): DecisionId {
  const time = Math.max(0, Math.floor(nowMs)).toString(36).padStart(9, "0");
  const id = parseDecisionId(`${time}-${entropy.bytes(8).toHex()}`);
  if (id === undefined) throw new Fault("internal", "Covey made a bad id");
  return id;
}
