import {
  type Conditions,
  escapeUnprintable,
  type MachineReading,
} from "../domain/mod.ts";

/**
 * Write what is known of the node's machine, for a terminal. What is not known
 * is left out.
 *
 * @param machine The reading.
 * @param conditions Whether the machine is fit for work, if the node said.
 * @returns One line, and one more for what is wrong; none when nothing is known.
 */
export function formatMachine(
  machine: MachineReading,
  conditions: Conditions | undefined,
): readonly string[] {
  const facts = [
    machine.temperatureCelsius === null
      ? null
      : `${machine.temperatureCelsius.toFixed(0)} °C`,
    machine.isThrottled === true ? "throttled by heat" : null,
    machine.isPowerCapped === true ? "power capped" : null,
    machine.isLowPower === true ? "low power mode" : null,
    powerOf(machine),
    loadOf(machine),
    memoryOf(machine),
    machine.diskFreeBytes === null
      ? null
      : `disk ${gigabytes(machine.diskFreeBytes)} free`,
    machine.foreignGpuProcesses === null || machine.foreignGpuProcesses === 0
      ? null
      : "others compute on the card",
  ].filter((fact) => fact !== null);
  return [
    ...(facts.length === 0 ? [] : [`Machine: ${facts.join(", ")}`]),
    ...(conditions?.ok === false
      ? [
        escapeUnprintable(
          `Degraded: this node ${conditions.reasons.join("; ")}`,
        ),
      ]
      : []),
  ];
}

function powerOf(machine: MachineReading): string | null {
  if (machine.isOnBattery !== true) return null;
  return machine.batteryShare === null
    ? "on battery"
    : `on battery at ${(machine.batteryShare * 100).toFixed(0)} %`;
}

function loadOf(machine: MachineReading): string | null {
  if (machine.load1 === null || machine.cpuCount === null) return null;
  return `load ${machine.load1.toFixed(1)} on ${machine.cpuCount} processors`;
}

function memoryOf(machine: MachineReading): string | null {
  const { memoryAvailableBytes, memoryPressure, memoryTotalBytes } = machine;
  if (memoryTotalBytes === null || memoryAvailableBytes === null) return null;
  const pressure = memoryPressure === null || memoryPressure === "normal"
    ? ""
    : ` (pressure ${memoryPressure})`;
  const { cardMemoryFreeBytes: free, cardMemoryTotalBytes: total } = machine;
  const cards = total === null || total === 0 || free === null
    ? ""
    : `, of cards ${gigabytes(free)} of ${gigabytes(total)}`;
  return `memory ${gigabytes(memoryAvailableBytes)} of ${
    gigabytes(memoryTotalBytes)
  } free${pressure}${cards}`;
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
