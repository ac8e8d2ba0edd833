import { readNumber } from "./number_reading.ts";
import type { Facts, MachineReader, Sensor } from "./sensor.ts";

const MOST_KIB = 2 ** 50;

/**
 * Read `df -kP`: sizes in KiB, one line a file system.
 *
 * @param text What it printed.
 */
export function parseDf(text: string | null): Facts | null {
  // Device and mount point may hold spaces; the numbers and `%` do not.
  const match = / (\d+) +(\d+) +(\d+) +\d+% /.exec(text?.split("\n")[1] ?? "");
  const total = readNumber(match?.[1], 1, MOST_KIB);
  const free = readNumber(match?.[3], 0, MOST_KIB);
  if (total === null || free === null || free > total) return null;
  return { diskTotalBytes: total * 1024, diskFreeBytes: free * 1024 };
}

/** Free space where the models are. */
export function createDiskSpace(
  reader: MachineReader,
  modelsDir: string,
): Sensor {
  return {
    name: "df",
    pace: "rare",
    async sample(signal) {
      return parseDf(await reader.run(["df", "-kP", modelsDir], signal));
    },
  };
}
