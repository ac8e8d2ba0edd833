import { createDiskSpace } from "./disk_space.ts";
import { createMacLoad } from "./mac_load.ts";
import { createMacPower } from "./mac_power.ts";
import type { MachineReader, Sensor, SensorNeeds } from "./sensor.ts";

/**
 * Every sensor a Mac may have, the most trusted first.
 *
 * @param reader The machine.
 * @param needs What else there is.
 */
export function listMacSensors(
  reader: MachineReader,
  { modelsDir, nowMs, ownPids }: SensorNeeds,
): readonly Sensor[] {
  return [
    createMacLoad(reader, ownPids, nowMs),
    createMacPower(reader),
    createDiskSpace(reader, modelsDir),
  ];
}
