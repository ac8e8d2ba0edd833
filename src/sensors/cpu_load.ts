import {
  type CpuTimes,
  parseCpuTimes,
  parseLoad1,
  parseProcessTicks,
} from "./cpu_times.ts";
import { smooth } from "./smooth.ts";
import type { MachineReader, Sensor } from "./sensor.ts";

const MOST_OWN = 64;
/** What "busy" is averaged over. */
const BUSY_MS = 10_000;
/** What the kernel's 1-minute load is averaged over. */
const LOAD_MS = 60_000;

/** Ticks at one moment. */
interface Sample {
  readonly times: CpuTimes;
  readonly own: ReadonlyMap<number, number>;
  readonly atMs: number;
}

/** What the processors do, and how much of it this node's own engines. */
export function createCpuLoad(
  reader: MachineReader,
  ownPids: () => readonly number[],
  nowMs: () => number,
): Sensor {
  let before: Sample | null = null;
  let busyThreads: number | null = null;
  let ownBusyThreads: number | null = null;
  let ownLoad1: number | null = null;

  return {
    name: "/proc/stat",
    pace: "fast",
    async sample() {
      const pids = ownPids().slice(0, MOST_OWN);
      const [stat, load, ...processes] = await Promise.all([
        reader.text("/proc/stat"),
        reader.text("/proc/loadavg"),
        ...pids.map((pid) => reader.text(`/proc/${pid}/stat`)),
      ]);
      const times = parseCpuTimes(stat ?? null);
      if (times === null) return null;
      const own = new Map<number, number>();
      for (const [at, pid] of pids.entries()) {
        const ticks = parseProcessTicks(processes[at] ?? null);
        if (ticks !== null) own.set(pid, ticks);
      }
      const now: Sample = { times, own, atMs: nowMs() };
      const seen = before === null ? null : threadsBetween(before, now);
      if (before !== null && seen !== null) {
        const tookMs = now.atMs - before.atMs;
        busyThreads = smooth(busyThreads, seen.busy, tookMs, BUSY_MS);
        ownBusyThreads = smooth(ownBusyThreads, seen.own, tookMs, BUSY_MS);
        ownLoad1 = smooth(ownLoad1 ?? 0, seen.own, tookMs, LOAD_MS);
      }
      before = now;
      return {
        cpuCount: times.cpuCount,
        load1: parseLoad1(load ?? null),
        busyThreads,
        ownBusyThreads,
        ownLoad1,
      };
    },
  };
}

/**
 * Threads that were busy between two samples. An engine that was not there
 * before counts from its next sample on.
 *
 * @returns All of them and this node's own, or null when no time went by.
 */
function threadsBetween(
  before: Sample,
  now: Sample,
): { readonly busy: number; readonly own: number } | null {
  const total = now.times.total - before.times.total;
  if (total <= 0) return null;
  const { cpuCount } = now.times;
  const threads = (ticks: number) =>
    Math.min(Math.max(ticks / total, 0), 1) * cpuCount;
  let own = 0;
  for (const [pid, ticks] of now.own) {
    own += Math.max(0, ticks - (before.own.get(pid) ?? ticks));
  }
  return {
    busy: threads(now.times.busy - before.times.busy),
    own: threads(own),
  };
}
