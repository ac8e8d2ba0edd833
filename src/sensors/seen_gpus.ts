import { FileError, type Files } from "../platform/mod.ts";

/** Who made a card that computes. */
export type GpuMaker = "nvidia" | "amd" | "intel";

const FOLDER = "/sys/class/drm";
const MOST_ENTRIES = 64;
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
 * @param files The machine's files.
 * @returns Each maker once, in the order of the cards.
 */
export async function findGpus(
  files: Pick<Files, "list" | "readText">,
): Promise<readonly GpuMaker[]> {
  const makers: GpuMaker[] = [];
  const entries = await orNull(files.list(FOLDER)) ?? [];
  for (const { name } of entries.slice(0, MOST_ENTRIES)) {
    if (!/^card\d+$/.test(name)) continue;
    const vendor = await orNull(
      files.readText(`${FOLDER}/${name}/device/vendor`),
    );
    const maker = MAKERS[vendor?.trim().toLowerCase() ?? ""];
    if (maker !== undefined && !makers.includes(maker)) makers.push(maker);
  }
  return makers;
}

/** What can not be read is not known. */
async function orNull<Value>(read: Promise<Value>): Promise<Value | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof FileError) return null;
    throw error;
  }
}
