import type { MachineReading, Tier } from "../domain/mod.ts";

/** A machine sold with 16 GB shows less of it: firmware and graphics keep some. */
const STRONG_BYTES = 14e9;
const STRONG_CPUS = 6;
/** Likewise of 8 GB. */
const MEDIUM_BYTES = 7e9;
const MEDIUM_CPUS = 4;

/**
 * Reckon a machine's weight class from its hardware: 1 with 16 GB and 6
 * processors, or with a graphics card that its sensors see beside 8 GB and 4
 * processors; 2 with 8 GB and 4 processors; 3 below. Seed 2's fleet comes out
 * as its owner sorted it, but for the 8 GB boards that he keeps for light work.
 *
 * @param machine What is known of it.
 * @param hasCard Whether a graphics card was ever seen.
 * @returns Null while memory or processors are not known.
 */
export function tierOfMachine(
  { cpuCount, memoryTotalBytes }: MachineReading,
  hasCard: boolean,
): Tier | null {
  if (cpuCount === null || memoryTotalBytes === null) return null;
  if (memoryTotalBytes < MEDIUM_BYTES || cpuCount < MEDIUM_CPUS) return 3;
  const isStrong = memoryTotalBytes >= STRONG_BYTES && cpuCount >= STRONG_CPUS;
  return isStrong || hasCard ? 1 : 2;
}
