import { createAmdGpu } from "./amd_gpu.ts";
import { createCpuClock } from "./cpu_clock.ts";
import { createCpuLoad } from "./cpu_load.ts";
import { createDiskActivity } from "./disk_activity.ts";
import { createDiskSpace } from "./disk_space.ts";
import { createMacLoad } from "./mac_load.ts";
import { createMacPower } from "./mac_power.ts";
import { createMemory } from "./memory.ts";
import { createNvidia } from "./nvidia.ts";
import { createPiFirmware } from "./pi_firmware.ts";
import { createPowerSupply } from "./power_supply.ts";
import type { MachineReader, Sensor } from "./sensor.ts";
import { createThermalZones } from "./thermal_zones.ts";

/** What some sensors need besides the reader. */
export interface SensorNeeds {
  readonly modelsDir: string;
  /** Process ids of this node's engines. */
  ownPids(): readonly number[];
  /** Monotonic time. */
  nowMs(): number;
}

/**
 * Every sensor a platform may have, the most trusted first.
 *
 * @param platform The operating system; others than these have none.
 * @param reader The machine.
 * @param needs What else there is.
 */
export function listSensors(
  platform: "linux" | "darwin" | "other",
  reader: MachineReader,
  needs: SensorNeeds,
): readonly Sensor[] {
  const { modelsDir, nowMs, ownPids } = needs;
  switch (platform) {
    case "linux":
      return [
        createThermalZones(reader),
        createCpuLoad(reader, ownPids, nowMs),
        createMemory(reader),
        createDiskActivity(reader, modelsDir, nowMs),
        createCpuClock(reader),
        createPowerSupply(reader),
        createAmdGpu(reader),
        createDiskSpace(reader, modelsDir),
        createPiFirmware(reader),
        createNvidia(reader, ownPids),
      ];
    case "darwin":
      return [
        createMacLoad(reader, ownPids, nowMs),
        createMacPower(reader),
        createDiskSpace(reader, modelsDir),
      ];
    case "other":
      return [];
    default:
      return platform satisfies never;
  }
}
