import type { JsonObject } from "@covey/core/domain";

/** What the admitting side decides once both sides have proved the password. */
export type AdmissionVerdict =
  | { readonly kind: "admitted"; readonly payload: JsonObject }
  /** The reason is for the operator of the newcomer; it may name rows. */
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Why an exchange ended without a verdict:
 * `no_match` the peer ended it, or its proof is wrong: another password, a
 * relay, or a garbled message, which nothing tells apart;
 * `busy` the peer has no room for a run now;
 * `unreachable` the message could not be carried;
 * `timeout` the peer took too long;
 * `closed` this node asks nobody: its door is closed, or it has no secret;
 * `self` the peer holds this node's own key.
 */
export type AdmissionProblem =
  | "no_match"
  | "busy"
  | "unreachable"
  | "timeout"
  | "closed"
  | "self";

/** How an exchange ended for its initiator. A verdict is proved to come from the peer. */
export type AdmissionOutcome =
  | AdmissionVerdict
  | {
    readonly kind: "failed";
    readonly problem: AdmissionProblem;
    /** What the carrier threw, for the log. */
    readonly cause?: unknown;
  };
