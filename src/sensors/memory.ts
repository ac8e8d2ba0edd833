import type { MachineReading } from "../domain/mod.ts";
import { readCgroupMemory } from "./cgroup_memory.ts";
import { readNumber } from "./number_reading.ts";
import type { MachineReader, Sensor } from "./sensor.ts";

const MOST_KIB = 2 ** 50;
/** Share of the last 10 s in which some task, or all of them, waited for memory. */
const HIGH_STALL = 10;
const CRITICAL_STALL = 10;

/** Total and available memory of /proc/meminfo, in bytes. */
export function parseMeminfo(
  text: string | null,
): { readonly totalBytes: number; readonly availableBytes: number } | null {
  const bytesOf = (name: string) => {
    const match = new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(text ?? "");
    const kib = readNumber(match?.[1], 0, MOST_KIB);
    return kib === null ? null : kib * 1024;
  };
  const totalBytes = bytesOf("MemTotal");
  const availableBytes = bytesOf("MemAvailable");
  if (totalBytes === null || availableBytes === null || totalBytes === 0) {
    return null;
  }
  return { totalBytes, availableBytes };
}

/** Read pressure stall information: /proc/pressure/memory. */
export function parsePressure(
  text: string | null,
): MachineReading["memoryPressure"] {
  const stall = (kind: "some" | "full") =>
    readNumber(
      new RegExp(`^${kind} avg10=([\\d.]+) `, "m").exec(text ?? "")?.[1],
      0,
      100,
    );
  const some = stall("some");
  const full = stall("full");
  if (some === null) return null;
  if (full !== null && full >= CRITICAL_STALL) return "critical";
  return some >= HIGH_STALL ? "high" : "normal";
}

/** Memory of a Linux machine or container. */
export function createMemory(reader: MachineReader): Sensor {
  return {
    name: "memory",
    pace: "fast",
    async sample() {
      const [meminfo, pressure, group] = await Promise.all([
        reader.text("/proc/meminfo"),
        reader.text("/proc/pressure/memory"),
        readCgroupMemory(reader),
      ]);
      const host = parseMeminfo(meminfo);
      if (host === null) return null;
      return {
        memoryTotalBytes: Math.min(
          host.totalBytes,
          group?.limitBytes ?? Infinity,
        ),
        memoryAvailableBytes: Math.min(
          host.availableBytes,
          group?.availableBytes ?? Infinity,
        ),
        memoryPressure: parsePressure(pressure),
      };
    },
  };
}
