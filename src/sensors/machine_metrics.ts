import type { MachineReading, Metrics } from "../domain/mod.ts";
import { foreignCpuShare } from "./speed_conditions.ts";
import type { Sensors } from "./sensors.ts";

/** Gauges by name; what is not known has no sample. */
const GAUGES: readonly {
  readonly name: string;
  readonly help: string;
  read(machine: MachineReading): number | boolean | null;
}[] = [
  {
    name: "temperature_celsius",
    help: "Temperature of the processor.",
    read: (machine) => machine.temperatureCelsius,
  },
  {
    name: "throttled",
    help: "1 while heat slows the processor or card down.",
    read: (machine) => machine.isThrottled,
  },
  {
    name: "power_capped",
    help: "1 while clocks or watts are held below what the hardware could do.",
    read: (machine) => machine.isPowerCapped,
  },
  {
    name: "on_battery",
    help: "1 while the machine runs on battery.",
    read: (machine) => machine.isOnBattery,
  },
  {
    name: "battery_ratio",
    help: "Charge of the battery.",
    read: (machine) => machine.batteryShare,
  },
  {
    name: "load1",
    help: "The system's 1-minute load average.",
    read: (machine) => machine.load1,
  },
  {
    name: "own_busy_threads",
    help: "Processors that this node's own engines keep busy.",
    read: (machine) => machine.ownBusyThreads,
  },
  {
    name: "foreign_cpu_ratio",
    help: "Share of the processors that others keep busy.",
    read: foreignCpuShare,
  },
  {
    name: "memory_bytes",
    help: "Memory this node may use: the machine's or its container's.",
    read: (machine) => machine.memoryTotalBytes,
  },
  {
    name: "memory_available_bytes",
    help: "Memory that could still be taken.",
    read: (machine) => machine.memoryAvailableBytes,
  },
  {
    name: "disk_busy_ratio",
    help: "Share of time that the disk of the models folder is busy.",
    read: (machine) => machine.diskBusyShare,
  },
  {
    name: "disk_free_bytes",
    help: "Free space where the models are.",
    read: (machine) => machine.diskFreeBytes,
  },
  {
    name: "gpu_busy_ratio",
    help: "Share of time that the busiest card works, for anybody.",
    read: (machine) => machine.gpuBusyShare,
  },
  {
    name: "foreign_gpu_processes",
    help: "Processes of others that compute on a card.",
    read: (machine) => machine.foreignGpuProcesses,
  },
  {
    name: "card_memory_bytes",
    help: "Memory of the cards that this node's engines compute on.",
    read: (machine) => machine.cardMemoryTotalBytes,
  },
  {
    name: "card_memory_free_bytes",
    help: "The part of it that nobody holds.",
    read: (machine) => machine.cardMemoryFreeBytes,
  },
];

/**
 * Register what sensors see.
 *
 * @param metrics Where.
 * @param sensors What.
 */
export function registerMachineMetrics(
  metrics: Metrics,
  sensors: Sensors,
): void {
  for (const { help, name, read } of GAUGES) {
    metrics.gauge(`covey_machine_${name}`, help, [], () => {
      const value = read(sensors.reading());
      return value === null ? [] : [{ value: Number(value), labels: {} }];
    });
  }
  metrics.gauge(
    "covey_machine_speed_ratio",
    "Expected speed of engines on this machine now over that with nothing in the way.",
    [],
    () => [{ value: sensors.factor(), labels: {} }],
  );
  metrics.gauge(
    "covey_machine_effect_ratio",
    "Learned speed under each condition that holds now, over that without it.",
    ["condition"],
    () =>
      sensors.effects().map(({ condition, share }) => ({
        value: share,
        labels: { condition },
      })),
  );
  metrics.gauge(
    "covey_machine_fit",
    "1 while disk and load are fit for work, 0 while peers hold this node degraded.",
    [],
    () => [{ value: Number(sensors.conditions().ok), labels: {} }],
  );
}
