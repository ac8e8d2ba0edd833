import { createAmdGpu } from "./amd_gpu.ts";
import { createCpuClock } from "./cpu_clock.ts";
import { createCpuLoad } from "./cpu_load.ts";
import { createDiskActivity } from "./disk_activity.ts";
import { createDiskSpace } from "./disk_space.ts";
import { createMemory } from "./memory.ts";
import { createNvidia } from "./nvidia.ts";
import { createPiFirmware } from "./pi_firmware.ts";
import { createPowerSupply } from "./power_supply.ts";
import type { MachineReader, Sensor, SensorNeeds } from "./sensor.ts";
import { createThermalZones } from "./thermal_zones.ts";

/**
 * Every sensor a Linux machine may have, the most trusted first.
 *
 * @param reader The machine.
 * @param needs What else there is.
 */
export function listLinuxSensors(
  reader: MachineReader,
  { computesOn, modelsDir, nowMs, ownPids }: SensorNeeds,
): readonly Sensor[] {
  return [
    createThermalZones(reader),
    createCpuLoad(reader, ownPids, nowMs),
    createMemory(reader),
    createDiskActivity(reader, modelsDir, nowMs),
    createCpuClock(reader),
    createPowerSupply(reader),
    createAmdGpu(reader, () => computesOn("amd")),
    createDiskSpace(reader, modelsDir),
    createPiFirmware(reader),
    createNvidia(reader, ownPids, () => computesOn("nvidia")),
  ];
}
