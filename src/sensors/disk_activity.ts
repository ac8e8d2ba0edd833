import { readNumber } from "./number_reading.ts";
import { smooth } from "./smooth.ts";
import type { MachineReader, Sensor } from "./sensor.ts";

const MOST_DEVICES = 512;
const BUSY_MS = 10_000;

/** Take apart a device number of Linux. */
export function splitDevice(
  device: number,
): { readonly major: number; readonly minor: number } {
  const bits = BigInt(device);
  return {
    major: Number(((bits >> 8n) & 0xfffn) | ((bits >> 32n) & 0xfffff000n)),
    minor: Number((bits & 0xffn) | ((bits >> 12n) & 0xffffff00n)),
  };
}

/**
 * Milliseconds that a device was busy since the start: /proc/diskstats.
 *
 * @param text The file.
 * @param device Device number of a file system on it.
 * @returns Null where the file system is on no device, as with btrfs or overlays.
 */
export function parseDiskBusyMs(
  text: string | null,
  device: number,
): number | null {
  const { major, minor } = splitDevice(device);
  for (const line of (text ?? "").split("\n").slice(0, MOST_DEVICES)) {
    const fields = line.trim().split(/ +/);
    if (fields[0] !== String(major) || fields[1] !== String(minor)) continue;
    return readNumber(fields[12], 0, Number.MAX_SAFE_INTEGER);
  }
  return null;
}

/** How busy the disk of the models folder is. */
export function createDiskActivity(
  reader: MachineReader,
  modelsDir: string,
  nowMs: () => number,
): Sensor {
  let device: number | null = null;
  let before: { readonly busyMs: number; readonly atMs: number } | null = null;
  let share: number | null = null;

  return {
    name: "/proc/diskstats",
    pace: "fast",
    async sample() {
      device ??= await reader.device(modelsDir);
      if (device === null) return null;
      const busyMs = parseDiskBusyMs(
        await reader.text("/proc/diskstats"),
        device,
      );
      if (busyMs === null) return null;
      const atMs = nowMs();
      if (before !== null && atMs > before.atMs) {
        const tookMs = atMs - before.atMs;
        const busy = Math.min(
          Math.max((busyMs - before.busyMs) / tookMs, 0),
          1,
        );
        share = smooth(share, busy, tookMs, BUSY_MS);
      }
      before = { busyMs, atMs };
      return { diskBusyShare: share };
    },
  };
}
