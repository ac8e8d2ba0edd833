import type { PackView } from "../../domain/mod.ts";

const CARDS = { nvidia: "an NVIDIA", amd: "an AMD", intel: "an Intel" };

/**
 * Say what to do about a GPU that is there and that llama.cpp can not use.
 *
 * @param makers Whose cards the machine has.
 * @param packs What can be added here, and what is.
 * @returns One sentence with the command, or null where nothing is to be done.
 */
export function adviseOnPacks(
  makers: readonly (keyof typeof CARDS)[],
  packs: readonly Pick<PackView, "name" | "state">[],
): string | null {
  const [maker] = makers;
  if (maker === undefined) return null;
  if (packs.some(({ state }) => state === "installed")) return null;
  const best = maker === "nvidia" ? "cuda" : "vulkan";
  const pack = packs.find(({ name, state }) =>
    name === best && state === "available"
  );
  if (pack === undefined) return null;
  return `This machine has ${
    CARDS[maker]
  } GPU that is not used; \`covey engine add ${pack.name}\` fetches what llama.cpp needs for it`;
}
