import type { Availability, Machine, WorkReport } from "../domain/mod.ts";

/**
 * Whether an engine of this node may be asked, the machine considered.
 *
 * @param machine The machine, or undefined where nobody watches it.
 * @param own What the engine says of itself.
 */
export function availabilityOn(
  machine: Machine | undefined,
  own: Availability,
): Availability {
  if (machine === undefined || own.kind === "unavailable") return own;
  const served = machine.served();
  if (served.kind === "nobody") {
    return { kind: "unavailable", reason: `This node ${served.reason}` };
  }
  const { ok, reasons } = machine.conditions();
  return ok || own.kind === "degraded"
    ? own
    : { kind: "degraded", reason: `This node ${reasons.join("; ")}` };
}

/**
 * What peers are told of the machine.
 *
 * @param machine The machine, or undefined where nobody watches it.
 */
export function reportOn(
  machine: Machine | undefined,
): Pick<WorkReport, "machine" | "conditions" | "tier" | "withheld"> {
  if (machine === undefined) return {};
  const served = machine.served();
  const tier = machine.tier?.() ?? null;
  return {
    machine: machine.reading(),
    conditions: machine.conditions(),
    ...(tier === null ? {} : { tier }),
    ...(served.kind === "everyone" ? {} : { withheld: served.reason }),
  };
}
