import { readNumber } from "./number_reading.ts";
import type { Facts, MachineReader, Sensor } from "./sensor.ts";

/**
 * Read `pmset -g therm`. Apple silicon prints notes only while nothing was
 * recorded: that is "not known", like everything that has no number.
 *
 * @param text What it printed.
 */
export function parseTherm(text: string | null): Facts | null {
  if (text === null || text.includes("\0")) return null;
  const limit = (name: string) =>
    readNumber(
      new RegExp(`^\\s*${name}\\s*=\\s*(\\d+)\\s*$`, "m").exec(text)?.[1],
      0,
      100,
    );
  const speed = limit("CPU_Speed_Limit");
  const scheduler = limit("CPU_Scheduler_Limit");
  if (speed === null && scheduler === null) return null;
  return { isThrottled: (speed ?? 100) < 100 || (scheduler ?? 100) < 100 };
}

/** Read `pmset -g batt`. */
export function parseBatt(text: string | null): Facts | null {
  const source = /^Now drawing from '(AC|Battery|UPS) Power'/m.exec(text ?? "")
    ?.[1];
  if (source === undefined) return null;
  const charge = readNumber(/\t(\d{1,3})%;/.exec(text ?? "")?.[1], 0, 100);
  return {
    isOnBattery: source !== "AC",
    batteryShare: charge === null ? null : charge / 100,
  };
}

/** Read `lowpowermode` of `pmset -g`. */
export function parseLowPower(text: string | null): boolean | null {
  const mode = /^\s*(?:lowpowermode|powermode)\s+(\d)\s*$/m.exec(text ?? "")
    ?.[1];
  return mode === undefined ? null : mode === "1";
}

/**
 * Heat, battery and low power mode of a Mac. `powermetrics` tells more but
 * wants root, so it is never started: no question for a password, no hang.
 */
export function createMacPower(reader: MachineReader): Sensor {
  return {
    name: "pmset",
    pace: "slow",
    async sample(signal) {
      const batt = parseBatt(
        await reader.run(["pmset", "-g", "batt"], signal),
      );
      const therm = parseTherm(
        await reader.run(["pmset", "-g", "therm"], signal),
      );
      const isLowPower = parseLowPower(
        await reader.run(["pmset", "-g"], signal),
      );
      return batt === null && therm === null && isLowPower === null
        ? null
        : { ...batt, ...therm, isLowPower };
    },
  };
}
