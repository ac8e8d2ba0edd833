/**
 * What the machine is doing: read cheaply from /proc, /sys and small programs,
 * and what that does to the speed of engines, learned.
 *
 * Files are read each 2 s and programs run each 10 s (10 s and 30 s on an idle
 * node); what a machine does not have is asked for three times, then each 10
 * minutes. What is not known is null, and null is neutral.
 *
 * Conditions that slow engines down (heat, caps, battery, others on processor
 * or card, memory pressure) each have an effect on speed: a rough prior, learned
 * from answers that came while the condition held. The serving node publishes
 * its rates at the speed of now; its learned levels stay those of a machine that
 * is well, so that recovery counts at once. Engines that compute elsewhere are
 * not scaled.
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
