import type { PartialFiles } from "../domain/mod.ts";
import { type FileFact, type Files, ifThere } from "../platform/mod.ts";
import { CONVERSION_PREFIX } from "./convert/conversion_folder.ts";
import { storageFault } from "./storage_fault.ts";

/** Hidden folders of the models folder in which models arrive, and by what. */
const PLACES = [
  { folder: ".partial", of: "pull" },
  { folder: ".copies", of: "copy" },
] as const;
/** More than anybody would read. */
const MOST_NAMED = 100;

/**
 * What of models lies here that did not come whole.
 *
 * @param files The file system.
 * @param modelsDir The models folder.
 * @param nowMs Wall-clock time.
 * @throws {Fault} When it can not be read.
 */
export async function partialFiles(
  files: Files,
  modelsDir: string,
  nowMs: number,
): Promise<readonly PartialFiles[]> {
  try {
    return await look(files, modelsDir, nowMs);
  } catch (error) {
    throw storageFault(error, "look for partial files");
  }
}

async function look(
  files: Files,
  modelsDir: string,
  nowMs: number,
): Promise<readonly PartialFiles[]> {
  const found: PartialFiles[] = [];
  const above = await entriesIn(files, modelsDir);
  for (const { folder, of } of PLACES) {
    // A link in its place would have other folders' contents shown.
    if (!above.some(({ kind, name }) => name === folder && kind === "folder")) {
      continue;
    }
    for (
      const { kind, name } of await entriesIn(files, `${modelsDir}/${folder}`)
    ) {
      if (kind !== "folder" || found.length >= MOST_NAMED) continue;
      const path = `${folder}/${name}`;
      let sizeBytes = 0;
      let newestMs: number | null = null;
      for (const inner of await entriesIn(files, `${modelsDir}/${path}`)) {
        if (inner.kind !== "file") continue;
        const stat = await ifThere(
          files.stat(`${modelsDir}/${path}/${inner.name}`),
        );
        if (stat === null) continue;
        sizeBytes += stat.sizeBytes;
        newestMs = Math.max(newestMs ?? 0, stat.modifiedMs ?? nowMs);
      }
      const idleMs = newestMs === null ? null : Math.max(0, nowMs - newestMs);
      const isConverted = of === "pull" && name.startsWith(CONVERSION_PREFIX);
      found.push({
        path,
        of: isConverted ? "conversion" : of,
        sizeBytes,
        idleMs,
      });
    }
  }
  return found;
}

/** What went away meanwhile came whole, or was removed. */
async function entriesIn(
  files: Files,
  folder: string,
): Promise<readonly FileFact[]> {
  return await ifThere(files.list(folder)) ?? [];
}
