import type { MachineReading } from "../domain/mod.ts";
import { readNumber } from "./number_reading.ts";
import { smooth } from "./smooth.ts";
import type { Facts, MachineReader, Sensor } from "./sensor.ts";

const MOST_CPUS = 4096;
const MOST_BYTES = 2 ** 50;
const MOST_LOAD = 1_000_000;
const MOST_OWN = 64;
const LOAD_MS = 60_000;

const SYSCTL = [
  "sysctl",
  "hw.ncpu",
  "hw.memsize",
  "vm.loadavg",
  "kern.memorystatus_vm_pressure_level",
];

/**
 * Read `sysctl` with names. A name that this system does not have is left out
 * by it, and is not known.
 *
 * @param text What it printed.
 */
export function parseSysctl(text: string | null): Facts | null {
  const value = (name: string) =>
    new RegExp(`^${name.replaceAll(".", "\\.")}: (.*)$`, "m").exec(text ?? "")
      ?.[1];
  const cpuCount = readNumber(value("hw.ncpu"), 1, MOST_CPUS);
  if (cpuCount === null) return null;
  const load = /^\{ (\d+[.,]\d+) /.exec(value("vm.loadavg") ?? "")?.[1];
  return {
    cpuCount,
    memoryTotalBytes: readNumber(value("hw.memsize"), 1, MOST_BYTES),
    load1: readNumber(load?.replace(",", "."), 0, MOST_LOAD),
    memoryPressure: pressureOf(value("kern.memorystatus_vm_pressure_level")),
  };
}

/**
 * Memory that could still be taken: free, inactive, speculative and purgeable
 * pages of `vm_stat`.
 *
 * @param text What it printed.
 */
export function parseVmStat(text: string | null): number | null {
  const pageBytes = readNumber(
    /page size of (\d+) bytes/.exec(text ?? "")?.[1],
    1,
    2 ** 20,
  );
  const pages = ["free", "inactive", "speculative", "purgeable"].map((kind) =>
    readNumber(
      new RegExp(`^Pages ${kind}: +(\\d+)\\.$`, "m").exec(text ?? "")?.[1],
      0,
      MOST_BYTES,
    )
  );
  if (pageBytes === null || pages[0] === null) return null;
  return pages.reduce<number>((sum, one) => sum + (one ?? 0), 0) * pageBytes;
}

/** Sum of `ps -o %cpu=`, in threads. */
export function parsePsCpu(text: string | null): number | null {
  const shares = (text ?? "").split("\n").slice(0, MOST_OWN).flatMap((line) =>
    readNumber(line.replace(",", "."), 0, 100 * MOST_CPUS) ?? []
  );
  return shares.length === 0
    ? null
    : shares.reduce((sum, one) => sum + one, 0) / 100;
}

/** Load and memory of a Mac. */
export function createMacLoad(
  reader: MachineReader,
  ownPids: () => readonly number[],
  nowMs: () => number,
): Sensor {
  let ownLoad1: number | null = null;
  let atMs = nowMs();
  return {
    name: "sysctl",
    pace: "slow",
    async sample(signal) {
      const facts = parseSysctl(await reader.run(SYSCTL, signal));
      if (facts === null) return null;
      const pids = ownPids().slice(0, MOST_OWN);
      const own = pids.length === 0 ? 0 : parsePsCpu(
        await reader.run(["ps", "-o", "%cpu=", "-p", pids.join(",")], signal),
      );
      const tookMs = nowMs() - atMs;
      atMs += tookMs;
      if (own !== null) ownLoad1 = smooth(ownLoad1 ?? 0, own, tookMs, LOAD_MS);
      return {
        ...facts,
        ownBusyThreads: own,
        ownLoad1,
        memoryAvailableBytes: parseVmStat(
          await reader.run(["vm_stat"], signal),
        ),
      };
    },
  };
}

function pressureOf(
  level: string | undefined,
): MachineReading["memoryPressure"] {
  switch (level?.trim()) {
    case "1":
      return "normal";
    case "2":
      return "high";
    case "4":
      return "critical";
    default:
      return null;
  }
}
