import { readNumber } from "./number_reading.ts";
import type { Facts, MachineReader, Sensor } from "./sensor.ts";

const FOLDER = "/sys/class/power_supply";
const PROFILE = "/sys/firmware/acpi/platform_profile";
const MOST_SUPPLIES = 16;

/**
 * Judge the machine's supplies from their `uevent` files. A mouse's battery is
 * not the machine's; on battery is who discharges while nothing feeds it.
 *
 * @param uevents Text of each supply's `uevent`.
 */
export function judgeSupplies(uevents: readonly string[]): Facts | null {
  const supplies = uevents.map(readPairs)
    .filter((pairs) =>
      pairs.has("TYPE") && pairs.get("SCOPE") !== "Device" &&
      pairs.get("PRESENT") !== "0"
    );
  const batteries = supplies.filter((pairs) => pairs.get("TYPE") === "Battery");
  const feeds = supplies.filter((pairs) => pairs.get("TYPE") !== "Battery");
  if (supplies.length === 0) return null;
  const fed = feeds.some((pairs) => pairs.get("ONLINE") === "1");
  const states = batteries.flatMap((pairs) => pairs.get("STATUS") ?? []);
  const charges = batteries.flatMap((pairs) =>
    readNumber(pairs.get("CAPACITY"), 0, 100) ?? []
  );
  return {
    isOnBattery: fed
      ? false
      : states.includes("Discharging")
      ? true
      : states.some((state) => state !== "Unknown")
      ? false
      : null,
    batteryShare: charges.length === 0
      ? null
      : charges.reduce((sum, one) => sum + one, 0) / charges.length / 100,
  };
}

/** Batteries and mains, as the kernel lists them. */
export function createPowerSupply(reader: MachineReader): Sensor {
  return {
    name: "power supplies",
    pace: "slow",
    async sample() {
      const names = (await reader.names(FOLDER)).slice(0, MOST_SUPPLIES);
      const uevents = await Promise.all(
        names.map((name) => reader.text(`${FOLDER}/${name}/uevent`)),
      );
      const profile = (await reader.text(PROFILE))?.trim() ?? "";
      const facts = judgeSupplies(uevents.filter((text) => text !== null));
      if (facts === null && profile === "") return null;
      return {
        ...facts,
        isLowPower: profile === "" ? null : profile === "low-power",
      };
    },
  };
}

function readPairs(text: string): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  for (const line of text.split("\n").slice(0, 64)) {
    const match = /^POWER_SUPPLY_([A-Z_]+)=([^\0]*)$/.exec(line);
    if (match?.[1] !== undefined) pairs.set(match[1], (match[2] ?? "").trim());
  }
  return pairs;
}
