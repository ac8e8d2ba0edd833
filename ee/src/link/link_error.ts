/**
 * Why a peer could not be talked to:
 * `refused` nobody listens at the address, `unreachable` no connection came
 * about, `identity` another key answered, `timeout` it took too long,
 * `broken` the connection ended early, `protocol` the peer broke the protocol,
 * `copy` one of the two ends is held to be a copy of another running node.
 */
export type LinkProblem =
  | "refused"
  | "unreachable"
  | "identity"
  | "timeout"
  | "broken"
  | "protocol"
  | "copy";

/** A failure of the link itself, never of the engine behind it. */
export class LinkError extends Error {
  override readonly name = "LinkError";
  readonly problem: LinkProblem;

  constructor(problem: LinkProblem, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.problem = problem;
  }
}
