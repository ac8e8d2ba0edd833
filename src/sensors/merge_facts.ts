import { type MachineReading, UNKNOWN_MACHINE } from "../domain/mod.ts";
import type { Facts } from "./sensor.ts";

const ADDED: ReadonlySet<string> = new Set<keyof MachineReading>([
  "cardMemoryTotalBytes",
  "cardMemoryFreeBytes",
]);

/**
 * Make one reading of what all sensors saw. Of yes and no, yes wins: one hot
 * card is enough. Of numbers the first counts, so that the kernel's own zone
 * goes before what firmware and cards say; memory of cards of several makers
 * adds up.
 *
 * @param all Facts, the most trusted sensor first.
 */
export function mergeFacts(all: readonly Facts[]): MachineReading {
  const merged: Record<string, unknown> = { ...UNKNOWN_MACHINE };
  for (const facts of all) {
    for (const [name, value] of Object.entries(facts)) {
      if (value === null || value === undefined) continue;
      if (merged[name] === null) merged[name] = value;
      else if (value === true) merged[name] = true;
      else if (ADDED.has(name) && typeof value === "number") {
        merged[name] = Number(merged[name]) + value;
      }
    }
  }
  // Every key is one of a reading's, and every value came typed under its key.
  return merged as unknown as MachineReading;
}
