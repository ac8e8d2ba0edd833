import { readNumber } from "./number_reading.ts";

/** Most logical processors that are believed. */
const MOST_CPUS = 4096;
const MOST_LOAD = 1_000_000;

/** Time that all processors spent since the machine's start, in clock ticks. */
export interface CpuTimes {
  readonly busy: number;
  readonly total: number;
  readonly cpuCount: number;
}

/**
 * Read /proc/stat. Time stolen by a hypervisor counts as busy: it is as gone
 * as what another program used.
 *
 * @param text The file.
 */
export function parseCpuTimes(text: string | null): CpuTimes | null {
  const lines = (text ?? "").split("\n", MOST_CPUS + 1);
  const fields = /^cpu +([\d ]+)$/.exec(lines[0] ?? "")?.[1]?.trim().split(/ +/)
    .map(Number);
  if (fields === undefined || fields.length < 4) return null;
  // user nice system idle iowait irq softirq steal; guest time is within user.
  const total = fields.slice(0, 8).reduce((sum, one) => sum + one, 0);
  const idle = (fields[3] ?? 0) + (fields[4] ?? 0);
  const cpuCount = lines.filter((line) => /^cpu\d/.test(line)).length;
  if (!Number.isSafeInteger(total) || cpuCount === 0) return null;
  return { busy: total - idle, total, cpuCount };
}

/**
 * Read the processor time of /proc/<pid>/stat, in clock ticks. The program's
 * name may hold anything, closing brackets and spaces included.
 *
 * @param text The file.
 */
export function parseProcessTicks(text: string | null): number | null {
  if (text === null) return null;
  const rest = text.slice(text.lastIndexOf(")") + 1).trim().split(" ");
  const user = readNumber(rest[11], 0, Number.MAX_SAFE_INTEGER);
  const system = readNumber(rest[12], 0, Number.MAX_SAFE_INTEGER);
  return user === null || system === null ? null : user + system;
}

/** Read the 1-minute average of /proc/loadavg. */
export function parseLoad1(text: string | null): number | null {
  return readNumber(text?.split(" ", 1)[0], 0, MOST_LOAD);
}
