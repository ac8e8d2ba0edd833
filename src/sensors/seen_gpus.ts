import type { MachineReader } from "./sensor.ts";

/** Who made a card that computes. */
export type GpuMaker = "nvidia" | "amd" | "intel";

const FOLDER = "/sys/class/drm";
/** Makers by their number on the bus; cards of virtual machines and servers' consoles are none of these. */
const MAKERS: Readonly<Record<string, GpuMaker>> = {
  "0x10de": "nvidia",
  "0x1002": "amd",
  "0x8086": "intel",
};

/**
 * Look which graphics cards this machine has, whether or not anything uses
 * them. Only Linux says.
 *
 * @param reader Reads the machine.
 * @returns Each maker once, in the order of the cards.
 */
export async function findGpus(
  reader: Pick<MachineReader, "names" | "text">,
): Promise<readonly GpuMaker[]> {
  const makers: GpuMaker[] = [];
  for (const name of await reader.names(FOLDER)) {
    if (!/^card\d+$/.test(name)) continue;
    const vendor = await reader.text(`${FOLDER}/${name}/device/vendor`);
    const maker = MAKERS[vendor?.trim().toLowerCase() ?? ""];
    if (maker !== undefined && !makers.includes(maker)) makers.push(maker);
  }
  return makers;
}
