import type { Conditions } from "./machine.ts";

/** This node's view of a member (seed 2's machine; the API writes it in upper case). */
export type HealthState = "healthy" | "degraded" | "offline" | "recovery";

/** What was learned about a member's liveness. */
export type Liveness =
  | { readonly kind: "pass" }
  | { readonly kind: "failure" }
  /** Every known address refused the connection: nobody is there. */
  | { readonly kind: "all_refused" }
  /** The test task that follows a recovery. */
  | { readonly kind: "test_passed" }
  | { readonly kind: "test_failed" };

/** Health with the failures in a row that led to it. */
export interface Health {
  /** Where it stands. */
  readonly state: HealthState;
  /** Failures in a row. */
  readonly failures: number;
}

/** Health of a member that was never met: first sight makes it healthy. */
export const UNMET: Health = { state: "offline", failures: 0 };

/**
 * A member's health with its machine's conditions: failing them degrades a
 * healthy one and does nothing else.
 *
 * @param state Its liveness.
 * @param conditions What it says of its machine, if it does.
 */
export function withConditions(
  state: HealthState,
  conditions: Conditions | undefined,
): HealthState {
  return state === "healthy" && conditions?.ok === false ? "degraded" : state;
}

const FAILURES_UNTIL_OFFLINE = 3;

/**
 * Step the liveness part of a member's health (design.md 6): one failure
 * degrades, three in a row or a refusal on all addresses put off line, and the
 * way back goes through one passed test.
 *
 * @param health Where the member stands.
 * @param seen What was learned.
 * @param met Whether it was ever healthy before; a first pass needs no test.
 * @returns Where it stands now.
 */
export function stepHealth(
  health: Health,
  seen: Liveness,
  met: boolean,
): Health {
  switch (seen.kind) {
    case "all_refused":
    case "test_failed":
      return { state: "offline", failures: FAILURES_UNTIL_OFFLINE };
    case "test_passed":
      return { state: "healthy", failures: 0 };
    case "failure": {
      const failures = health.failures + 1;
      if (health.state === "offline") return { state: "offline", failures };
      if (health.state === "recovery" || failures >= FAILURES_UNTIL_OFFLINE) {
        return { state: "offline", failures };
      }
      return { state: "degraded", failures };
    }
    case "pass":
      if (health.state === "offline") {
        return { state: met ? "recovery" : "healthy", failures: 0 };
      }
      if (health.state === "recovery") return { ...health, failures: 0 };
      return { state: "healthy", failures: 0 };
    default: {
      const never: never = seen;
      return never;
    }
  }
}
