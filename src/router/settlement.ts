import type { AttemptOutcome, Fault } from "../domain/mod.ts";
import type { AnswerTally } from "./answer_tally.ts";
import type { BreakerOutcome } from "./breaker.ts";

/** How an attempt ended, with what is to be learned from it. */
export type Settlement =
  | { readonly kind: "answered"; readonly tally: AnswerTally }
  /** The engine found the request itself wrong. */
  | { readonly kind: "rejected"; readonly status: number }
  /** The engine was busy in its own words. */
  | { readonly kind: "busy"; readonly status: number }
  | { readonly kind: "rate_limited"; readonly retryAfter: string | null }
  | { readonly kind: "refused"; readonly message: string }
  | {
    readonly kind: "failed";
    readonly fault: Fault;
    readonly counts: "engine" | "member" | "nobody";
  }
  | {
    readonly kind: "broken_off";
    readonly fault: Fault;
    readonly tally: AnswerTally;
  }
  /** It was taken back unstarted, for an engine that is free sooner. */
  | { readonly kind: "withdrawn" }
  | { readonly kind: "cancelled"; readonly tally: AnswerTally | null };

/** What a settlement says in a decision record and to a breaker. */
export interface SettlementReading {
  readonly outcome: AttemptOutcome;
  readonly reason: string | null;
  /** For the engine's breaker. */
  readonly engine: BreakerOutcome;
  /** For the breaker of its member. */
  readonly member: BreakerOutcome;
}

/**
 * Read a settlement: which outcome it is, and whom it speaks against. Only
 * time-outs, broken links and failures of the engine count; what the caller did
 * wrong, rests and refusals never do.
 *
 * @param settled How the attempt ended.
 */
export function readSettlement(settled: Settlement): SettlementReading {
  switch (settled.kind) {
    case "answered":
      return reading("answered", null, "success");
    case "rejected":
      return reading(
        "answered",
        `the engine rejected the request with status ${settled.status}`,
      );
    case "busy":
      return reading("refused", `the engine answered ${settled.status}`);
    case "rate_limited":
      return reading("refused", "the engine answered 429");
    case "refused":
      return reading("refused", settled.message);
    case "failed":
      return {
        outcome: "failed",
        reason: settled.fault.message,
        engine: settled.counts === "engine" ? "error" : "neutral",
        member: settled.counts === "member" ? "error" : "neutral",
      };
    case "broken_off":
      return {
        ...reading("broken_off", settled.fault.message, "error"),
        member: "neutral",
      };
    case "withdrawn":
      return reading("withdrawn", "another engine was free sooner");
    case "cancelled":
      return reading("cancelled", null);
    default: {
      const never: never = settled;
      return never;
    }
  }
}

function reading(
  outcome: AttemptOutcome,
  reason: string | null,
  both: BreakerOutcome = "neutral",
): SettlementReading {
  return { outcome, reason, engine: both, member: both };
}
