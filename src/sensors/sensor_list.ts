import type { MachineReader, Sensor, SensorNeeds } from "./sensor.ts";

/**
 * Load every sensor that a platform may have, and no other's: modules take
 * memory.
 *
 * @param platform The operating system; others than these have none.
 * @param reader The machine.
 * @param needs What else there is.
 */
export async function loadSensors(
  platform: "linux" | "darwin" | "other",
  reader: MachineReader,
  needs: SensorNeeds,
): Promise<readonly Sensor[]> {
  switch (platform) {
    case "linux":
      return (await import("./linux_sensors.ts"))
        .listLinuxSensors(reader, needs);
    case "darwin":
      return (await import("./mac_sensors.ts")).listMacSensors(reader, needs);
    case "other":
      return [];
    default:
      return platform satisfies never;
  }
}
