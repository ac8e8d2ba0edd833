import type { ModelManifest } from "@covey/core/domain";
import type { Files } from "@covey/core/platform";
import type { Holding } from "./holding.ts";
import type { PartStore } from "./part_store.ts";

/**
 * A model on its way here, ready to be sent as far as it has come.
 *
 * @param files The file system.
 * @param manifest What it is made of.
 * @param parts What has come; null once it was published, or before.
 * @param published Paths of its files once they are.
 */
export function arrivingHolding(
  files: Files,
  manifest: ModelManifest,
  parts: PartStore | null,
  published: readonly string[] | null,
): Holding {
  return {
    manifest,
    held: () => published === null ? parts?.held.toHex() ?? "" : null,
    has: ({ index }) => published !== null || (parts?.held.has(index) ?? false),
    read: async (chunk, room) => {
      const { length, offset } = chunk;
      const path = published?.[chunk.file] ?? parts?.pathOf(chunk.file);
      if (path === undefined) return null;
      using file = await files.open(path);
      const bytes = room.subarray(0, length);
      return bytes.subarray(0, await file.readInto(offset, bytes));
    },
  };
}
