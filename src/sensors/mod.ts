/**
 * What the machine is doing: read cheaply from /proc, /sys and small programs,
 * and what that does to the speed of engines, learned.
 *
 * @module
 */
export type { BatteryPolicy } from "./battery_policy.ts";
export { registerMachineMetrics } from "./machine_metrics.ts";
export { findGpus, type GpuMaker } from "./seen_gpus.ts";
export {
  createSensors,
  type Sensors,
  type SensorsOptions,
  type ShownEffect,
} from "./sensors.ts";
