import type { Availability, WorkReport } from "@covey/core/domain";

/**
 * What a peer's machine makes of it: one that is not fit for work is used less,
 * one that keeps its engines for itself not at all.
 *
 * @param standing What the link says.
 * @param report What it last said of its machine.
 */
export function withMachine(
  standing: Availability,
  { conditions, withheld }: WorkReport,
): Availability {
  if (standing.kind === "unavailable") return standing;
  if (withheld !== undefined) {
    return { kind: "unavailable", reason: `It ${withheld}` };
  }
  return standing.kind === "available" && conditions?.ok === false
    ? { kind: "degraded", reason: `It ${conditions.reasons.join("; ")}` }
    : standing;
}
