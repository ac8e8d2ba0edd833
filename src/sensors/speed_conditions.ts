import type { MachineReading } from "../domain/mod.ts";

/**
 * What slows engines down, and the speed that is expected under it before
 * anything was observed, over the speed without it. The figures are rough on
 * purpose: a wrong one costs a handful of answers until it is learned.
 *
 * - `throttled`: a Pi at its limit falls from 1.8 or 2.4 GHz to 1.0–1.5 GHz.
 * - `power_capped`: cards at 70–80 % of their watts keep most of their speed.
 * - `low_power`: laptops in that mode hold clocks at about two thirds.
 * - `on_battery`: most hold turbo back a little.
 * - `cpu_contended`: others want at least half of the processors.
 * - `memory_pressure`: weights are being read from the disk again.
 * - `disk_busy`: matters for loads, hardly for what is in memory.
 * - `gpu_contended`: two who compute on one card share it.
 */
export const SPEED_PRIORS = {
  throttled: 0.6,
  power_capped: 0.8,
  low_power: 0.7,
  on_battery: 0.9,
  cpu_contended: 0.7,
  memory_pressure: 0.5,
  disk_busy: 0.95,
  gpu_contended: 0.6,
} as const;

/** One thing that slows engines down. */
export type SpeedCondition = keyof typeof SPEED_PRIORS;

/** All of them, in the order in which they are shown. */
export const SPEED_CONDITIONS: readonly SpeedCondition[] = Object.keys(
  SPEED_PRIORS,
) as SpeedCondition[];

/** What is graded begins at `on` and ends at `off`, so that it does not flap. */
const FOREIGN_CPU = { on: 0.5, off: 0.35 };
const DISK = { on: 0.9, off: 0.7 };
const GPU = { on: 0.2, off: 0.1 };
/** Own engines that do less than this are idle. */
const OWN_IDLE_THREADS = 0.1;
/** A busy processor whose fastest core runs below this share is held back. */
const SLOW_CLOCK = 0.6;

/**
 * Tell which conditions hold. What is not known holds none.
 *
 * @param now The machine.
 * @param before Conditions that held at the last look.
 */
export function speedConditions(
  now: MachineReading,
  before: ReadonlySet<SpeedCondition>,
): ReadonlySet<SpeedCondition> {
  const graded = (
    condition: SpeedCondition,
    share: number | null,
    limit: { readonly on: number; readonly off: number },
  ) =>
    share !== null && share >= (before.has(condition) ? limit.off : limit.on);
  const holds: Record<SpeedCondition, boolean> = {
    throttled: now.isThrottled === true || isSlowAtWork(now),
    power_capped: now.isPowerCapped === true,
    low_power: now.isLowPower === true,
    on_battery: now.isOnBattery === true,
    cpu_contended: graded("cpu_contended", foreignCpuShare(now), FOREIGN_CPU),
    memory_pressure: now.memoryPressure === "high" ||
      now.memoryPressure === "critical",
    disk_busy: graded("disk_busy", now.diskBusyShare, DISK),
    gpu_contended: isForeignGpu(now) &&
      graded("gpu_contended", now.gpuBusyShare, GPU),
  };
  return new Set(SPEED_CONDITIONS.filter((condition) => holds[condition]));
}

/** Share of the processors that others keep busy, or null. */
export function foreignCpuShare(now: MachineReading): number | null {
  const { busyThreads, cpuCount, ownBusyThreads } = now;
  if (busyThreads === null || cpuCount === null) return null;
  return Math.max(0, busyThreads - (ownBusyThreads ?? 0)) / cpuCount;
}

/** The kernel's clocks tell something only of a processor that has work. */
function isSlowAtWork({ clockShare, ownBusyThreads }: MachineReading): boolean {
  return clockShare !== null && clockShare < SLOW_CLOCK &&
    ownBusyThreads !== null && ownBusyThreads >= 1;
}

/** Where a card does not say for whom it works, it is others' while our engines are idle. */
function isForeignGpu(now: MachineReading): boolean {
  if (now.foreignGpuProcesses !== null) return now.foreignGpuProcesses > 0;
  return now.ownBusyThreads !== null && now.ownBusyThreads < OWN_IDLE_THREADS;
}
