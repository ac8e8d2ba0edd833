import {
  type Attempt,
  type Engine,
  Fault,
  type Resume,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import {
  type AttemptLimits,
  type AttemptResult,
  runAttempt,
  type WholeAnswer,
} from "./attempt.ts";
import { AttemptGuard } from "./attempt_guard.ts";
import type { AttemptStream } from "./attempt_stream.ts";
import type { Candidate } from "./candidate.ts";
import type { Settlement } from "./settlement.ts";

/** An attempt that was numbered, charged and recorded. */
export interface BegunAttempt {
  readonly candidate: Candidate;
  readonly engine: Engine;
  readonly attempt: Attempt;
  readonly limits: AttemptLimits;
  /**
   * Record how it ended. Called once.
   *
   * @returns When the engine may be asked again, where it now rests, else null.
   */
  settle(settled: Settlement): number | null;
}

/** What the loop does to the world, apart from asking engines. */
export interface LoopEffects {
  readonly clock: Clock;
  /**
   * Begin an attempt at the best candidate that was not tried yet.
   *
   * @param n Number of the attempt, from 1.
   * @param resume What the client has of the answer already: only an engine that can go on with it is a candidate.
   * @returns The attempt, or why there is no candidate.
   */
  begin(n: number, resume?: Resume): BegunAttempt | Fault;
}

/** What the client can be given. */
export type Opened =
  | {
    readonly kind: "streaming";
    readonly begun: BegunAttempt;
    readonly stream: AttemptStream;
    readonly guard: AttemptGuard;
  }
  /** A whole answer of an engine, whatever its status. */
  | {
    readonly kind: "whole";
    readonly begun: BegunAttempt;
    readonly answer: WholeAnswer;
  }
  | { readonly kind: "nothing"; readonly fault: Fault }
  | { readonly kind: "cancelled" };

const MOST_FAILURES = 4;
/** Without a reason of its own an abort makes an exception, stack and all. */
const OVER = "The attempt is over";

/**
 * Try candidates in order as long as the client has seen nothing. Never throws
 * and never waits for the client.
 *
 * @param effects How attempts begin and end.
 * @param client Aborted when the client leaves.
 * @returns What to give the client.
 */
export async function tryCandidates(
  effects: LoopEffects,
  client: AbortSignal,
): Promise<Opened> {
  const failures = new Failures();
  let failed = 0;
  for (let n = 1; failed < MOST_FAILURES; n++) {
    if (client.aborted) return { kind: "cancelled" };
    const begun = effects.begin(n);
    if (begun instanceof Fault) return failures.conclude(begun);
    const guard = new AttemptGuard(effects.clock, client);
    const { engine, attempt, limits } = begun;
    const result = await runAttempt(engine, attempt, guard, limits);
    if (result.kind === "streaming") {
      return { kind: "streaming", begun, stream: result.stream, guard };
    }
    // Whatever the engine may still be doing for this attempt ends here.
    guard.cancel(OVER);
    guard[Symbol.dispose]();
    const retryAfterMs = begun.settle(settlementOf(result));
    switch (result.kind) {
      case "whole":
      case "rejected":
        return { kind: "whole", begun, answer: result.answer };
      case "cancelled":
        return { kind: "cancelled" };
      case "withdrawn":
        break;
      case "failed":
        failed++;
        if (isCallersFault(result.fault)) {
          return { kind: "nothing", fault: result.fault };
        }
        failures.add(begun, result, retryAfterMs);
        break;
      case "busy":
      case "rate_limited":
      case "refused":
        failed++;
        failures.add(begun, result, retryAfterMs);
        break;
      default: {
        const never: never = result;
        return never;
      }
    }
  }
  return failures.conclude(null);
}

/** No other engine would take a request that is wrong. */
function isCallersFault(fault: Fault): boolean {
  switch (fault.code) {
    case "invalid_request":
    case "context_length_exceeded":
    case "wrong_capability":
    case "not_implemented":
    case "body_too_large":
      return true;
    default:
      return false;
  }
}

function settlementOf(
  result: Exclude<AttemptResult, { readonly kind: "streaming" }>,
): Settlement {
  switch (result.kind) {
    case "whole":
      return { kind: "answered", tally: result.answer.tally };
    case "rejected":
    case "busy":
      return { kind: result.kind, status: result.answer.status };
    case "cancelled":
      return { kind: "cancelled", tally: null };
    case "withdrawn":
    case "rate_limited":
    case "refused":
    case "failed":
      return result;
    default: {
      const never: never = result;
      return never;
    }
  }
}

type Failure = Extract<
  AttemptResult,
  { readonly kind: "failed" | "busy" | "rate_limited" | "refused" }
>;

/** What went wrong so far, and what the client is told if nothing goes right. */
class Failures {
  #busy: Opened | null = null;
  #last: Fault | null = null;
  #waits: {
    readonly code: "queue_full" | "cooling_down";
    ms: number | null;
  }[] = [];

  add(begun: BegunAttempt, failure: Failure, retryAfterMs: number | null) {
    switch (failure.kind) {
      case "failed":
        this.#last = failure.fault;
        if (failure.fault.code === "queue_full") {
          this.#waits.push({
            code: "queue_full",
            ms: failure.fault.retryAfterMs,
          });
        }
        break;
      case "busy":
        this.#busy = { kind: "whole", begun, answer: failure.answer };
        break;
      case "rate_limited":
        this.#waits.push({ code: "cooling_down", ms: retryAfterMs });
        break;
      case "refused":
        if (failure.reason === "queue_full") {
          this.#waits.push({ code: "queue_full", ms: failure.retryAfterMs });
        } else {
          this.#last ??= new Fault("no_candidate", failure.message);
        }
        break;
      default: {
        const never: never = failure;
        return never;
      }
    }
  }

  /** A full queue or a rest passes by itself: saying so helps more than naming a failure. */
  conclude(nowhere: Fault | null): Opened {
    const first = this.#waits[0];
    if (first !== undefined) {
      const known = this.#waits.flatMap(({ ms }) => ms ?? []);
      const fault = new Fault(
        first.code,
        first.code === "queue_full"
          ? "Every queue for this model is full; ask again later"
          : "Every engine with this model asked for a rest; ask again later",
        known.length > 0 ? { retryAfterMs: Math.min(...known) } : {},
      );
      return { kind: "nothing", fault };
    }
    if (this.#busy !== null) return this.#busy;
    const fault = this.#last ?? nowhere ??
      new Fault("no_candidate", "No engine could take this request");
    return { kind: "nothing", fault };
  }
}
