import type { MachineReading, ServedCallers } from "../domain/mod.ts";

/** What an operator wants of a node on battery (COVEY_ON_BATTERY). */
export type BatteryPolicy = "local" | "serve" | "off";

/**
 * Decide whom a node serves. One whose battery is not known is on mains.
 *
 * @param machine The reading.
 * @param policy What the operator said.
 */
export function servedOnBattery(
  { isOnBattery }: MachineReading,
  policy: BatteryPolicy,
): ServedCallers {
  if (isOnBattery !== true) return { kind: "everyone" };
  switch (policy) {
    case "serve":
      return { kind: "everyone" };
    case "local":
      return {
        kind: "own_clients",
        reason: "runs on battery and serves its own clients only",
      };
    case "off":
      return {
        kind: "nobody",
        reason: "runs on battery, and COVEY_ON_BATTERY is off",
      };
    default:
      return policy satisfies never;
  }
}
