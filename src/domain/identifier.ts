/** Identifiers that travel between rooms, each of its own type so that none is taken for another. */

/** A text of one meaning, which no other text is taken for. The mark is for the compiler alone. */
export type Branded<Name extends string> = string & { readonly "#brand": Name };

/** UUID of a node, lower case with dashes. */
export type NodeId = Branded<"NodeId">;
/** Identifier of one placement decision, sent as `x-covey-decision`. */
export type DecisionId = Branded<"DecisionId">;
/** Identifier of one attempt: `<decision>.<n>`, n counting from 1. */
export type AttemptId = Branded<"AttemptId">;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const DECISION = /^[0-9a-zA-Z-]{8,64}$/;
const ATTEMPT = /^[0-9a-zA-Z-]{8,64}\.[1-9][0-9]{0,2}$/;

/**
 * Parse a node id.
 *
 * @param text A UUID in either letter case.
 * @returns The id in lower case, or undefined when the text is no UUID.
 */
export function parseNodeId(text: string): NodeId | undefined {
  const lower = text.toLowerCase();
  return UUID.test(lower) ? lower as NodeId : undefined;
}

/**
 * Parse a decision id.
 *
 * @param text 8 to 64 letters, digits and dashes.
 * @returns The id, or undefined when the text has another form.
 */
export function parseDecisionId(text: string): DecisionId | undefined {
  return DECISION.test(text) ? text as DecisionId : undefined;
}

/**
 * Parse an attempt id.
 *
 * @param text `<decision>.<n>`.
 * @returns The id, or undefined when the text has another form.
 */
export function parseAttemptId(text: string): AttemptId | undefined {
  return ATTEMPT.test(text) ? text as AttemptId : undefined;
}

/**
 * Name the n-th attempt of a decision.
 *
 * @param decision The decision.
 * @param n Number of the attempt, counting from 1.
 * @returns The attempt's id.
 */
export function attemptIdOf(decision: DecisionId, n: number): AttemptId {
  return `${decision}.${n}` as AttemptId;
}
