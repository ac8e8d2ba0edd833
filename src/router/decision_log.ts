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

/** A decision as it is written: its record is put together when somebody reads it. */
interface Entry {
  readonly decided: DecisionRecord;
  readonly attempts: AttemptRecord[];
  actual: ActualRecord | null;
}

/** The last thousand decisions. What is read of it is a value, which no later attempt changes. */
export class DecisionLog {
  /** Oldest first. */
  readonly #entries = new Map<DecisionId, Entry>();

  /** Keep a decision, forgetting the oldest one beyond the limit. */
  add(decided: DecisionRecord): void {
    this.#entries.set(decided.id, {
      decided,
      attempts: [...decided.attempts],
      actual: decided.actual,
    });
    if (this.#entries.size <= KEPT) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  /** Whether a decision is remembered. */
  has(id: DecisionId): boolean {
    return this.#entries.has(id);
  }

  /** A decision as it stands, or undefined when it is forgotten. */
  get(id: DecisionId): DecisionRecord | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined ? undefined : recordOf(entry);
  }

  /**
   * The latest ones as they stand, newest first.
   *
   * @param limit How many at most.
   */
  latest(limit: number): readonly DecisionRecord[] {
    return limit <= 0 ? [] : [...this.#entries.values()].slice(-limit)
      .reverse().map(recordOf);
  }

  /** Note that an attempt began. */
  begin(id: DecisionId, attempt: AttemptRecord): void {
    this.#entries.get(id)?.attempts.push(attempt);
  }

  /** Note how an attempt ended. */
  end(id: DecisionId, attempt: AttemptId, end: AttemptEnd): void {
    const attempts = this.#entries.get(id)?.attempts ?? [];
    const at = attempts.findIndex((one) => one.id === attempt);
    const begun = attempts[at];
    if (begun !== undefined) attempts[at] = { ...begun, ...end };
  }

  /** Note what came of the decision. */
  finish(id: DecisionId, actual: ActualRecord): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.actual = actual;
  }
}

function recordOf({ decided, attempts, actual }: Entry): DecisionRecord {
  return { ...decided, attempts: [...attempts], actual };
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
