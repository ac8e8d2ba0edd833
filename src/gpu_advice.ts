import { adviseOnPacks } from "./engines/packs/pack_advice.ts";
import { packsFolder } from "./engines/packs/packs_folder.ts";
import type { NodeOptions } from "./node_options.ts";
import { runsEmbedded } from "./own_engines.ts";
import { findGpus } from "./sensors/mod.ts";

/**
 * Say what to do about a GPU of this machine that the embedded engine can not
 * use as it is installed.
 *
 * @returns One sentence with the command, or null where nothing is to be done.
 */
export async function findGpuAdvice(
  { config, operatingSystem, platform: { clock, files } }: NodeOptions,
): Promise<string | null> {
  if (operatingSystem !== "linux" || !runsEmbedded(config)) return null;
  const makers = await findGpus(files);
  if (makers.length === 0) return null;
  const { EnginePacks } = await import("./engines/packs/engine_packs.ts");
  const packs = new EnginePacks({
    clock,
    files,
    folder: packsFolder(config.dataDir),
    os: operatingSystem,
    arch: Deno.build.arch,
  });
  return adviseOnPacks(makers, await packs.list());
}
