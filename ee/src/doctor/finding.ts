/** How a finding counts: only a problem makes the doctor's exit code 1. */
export type Verdict = "ok" | "info" | "warning" | "problem";

/** One thing that the doctor found. */
export interface Finding {
  /** What it is about: `node`, an interface's name, a member's name. */
  readonly subject: string;
  /** The step that was tried, for example `multicast` or `dial back`. */
  readonly step: string;
  readonly verdict: Verdict;
  /** What is so: one sentence without its full stop. */
  readonly text: string;
  /** What to do about it, or null where there is nothing to do. */
  readonly fix: string | null;
}

/** The systems whose remedies differ. */
export type SystemKind = "linux" | "darwin" | "other";

/** Make a finding that all is well. */
export function ok(subject: string, step: string, text: string): Finding {
  return { subject, step, verdict: "ok", text, fix: null };
}

/** Make a finding that is only to be known. */
export function info(
  subject: string,
  step: string,
  text: string,
  fix: string | null = null,
): Finding {
  return { subject, step, verdict: "info", text, fix };
}

/** Make a finding that something is not as it should be, while all works. */
export function warning(
  subject: string,
  step: string,
  text: string,
  fix: string,
): Finding {
  return { subject, step, verdict: "warning", text, fix };
}

/** Make a finding that something is wrong. */
export function problem(
  subject: string,
  step: string,
  text: string,
  fix: string,
): Finding {
  return { subject, step, verdict: "problem", text, fix };
}
