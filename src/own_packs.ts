import type {
  PackAllies,
  PackArchive,
  PackCare,
  PackShelf,
} from "./domain/mod.ts";
import { packsFolder } from "./engines/packs/packs_folder.ts";
import type { NodeOptions } from "./node_options.ts";

/** A node's engine packs. */
export interface OwnPacks {
  /** What members may have from here. */
  readonly shelf: PackShelf;
  /** What an operator has done about them through the node. */
  readonly care: PackCare;
}

/**
 * Make what a node knows of its engine packs. The rooms behind it are loaded
 * when somebody asks: on most nodes nobody does.
 *
 * @param options The node's.
 * @param allies The other members; null while there are none.
 */
export function openOwnPacks(
  { config, platform: { clock, files } }: NodeOptions,
  allies: () => PackAllies | null,
): OwnPacks {
  const folder = packsFolder(config.dataDir);
  const archives = once(async () => {
    const { PackArchives } = await import("./engines/packs/pack_archives.ts");
    return new PackArchives(files, folder);
  });
  const members = once(async () => {
    const [{ EnginePacks }, { MemberPacks }] = await Promise.all([
      import("./engines/packs/engine_packs.ts"),
      import("./engines/packs/member_packs.ts"),
    ]);
    const { arch, os } = Deno.build;
    return new MemberPacks(
      new EnginePacks({ clock, files, folder, os, arch }),
      allies,
    );
  });
  return {
    shelf: {
      list: async (): Promise<readonly PackArchive[]> =>
        await (await archives()).list(),
      unkept: async () => await (await archives()).unkept(),
      read: async (...part) => await (await archives()).read(...part),
    },
    care: {
      list: async (signal) => await (await members()).list(signal),
      add: async (...asked) => await (await members()).add(...asked),
    },
  };
}

function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | undefined;
  return () => loading ??= load();
}
