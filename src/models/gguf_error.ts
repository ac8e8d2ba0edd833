/** What is wrong with a file that should be a GGUF. */
export type GgufProblem =
  | "empty"
  | "pointer"
  | "not_gguf"
  | "unsupported"
  | "bad_header"
  | "truncated";

/** A file that is no usable GGUF. The message is a reason for people, without the path. */
export class GgufError extends Error {
  override readonly name = "GgufError";
  readonly problem: GgufProblem;

  constructor(problem: GgufProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
