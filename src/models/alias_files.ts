import { Fault } from "../domain/mod.ts";
import type { Files } from "../platform/mod.ts";
import { baseOf, type ModelFiles } from "./model_files.ts";
import { checkNewName } from "./safe_name.ts";

/** A file under its other name; both are paths from the models folder. */
export interface AliasFile {
  readonly from: string;
  readonly to: string;
}

/**
 * Tell what a model's files are called under another name. They lie at the top
 * of the models folder, wherever the model itself lies.
 *
 * @param model The model.
 * @param name The other name.
 * @throws {Fault} When the name cannot be that of a file.
 */
export function aliasFiles(
  model: ModelFiles,
  name: string,
): readonly AliasFile[] {
  checkNewName(name, "destination");
  return model.files.map(({ path }) => ({
    from: path,
    to: name + baseOf(path).slice(model.name.length),
  }));
}

/**
 * Tell whether a model has its second name already.
 *
 * @param model The model.
 * @param named What has the name, if anything.
 * @throws {Fault} When another model has it.
 */
export function hasName(model: ModelFiles, named?: ModelFiles): boolean {
  const [{ identity }] = model.files;
  if (named === undefined) return false;
  if (identity !== null && named.files[0].identity === identity) return true;
  throw new Fault(
    "conflict",
    `There is another model ${JSON.stringify(named.name)}; remove it first`,
  );
}

/**
 * Give files a second name: all of them or, where one fails, none.
 *
 * @param files The file system.
 * @param folder The models folder.
 * @param aliases What to name how, the first part first.
 * @throws {FileError} When a name cannot be given.
 */
export async function linkAliases(
  files: Files,
  folder: string,
  aliases: readonly AliasFile[],
): Promise<void> {
  const made: string[] = [];
  try {
    // Without its first part a model is not offered: it comes last.
    for (const { from, to } of aliases.toReversed()) {
      await files.link(`${folder}/${from}`, `${folder}/${to}`);
      made.push(to);
    }
  } catch (error) {
    for (const path of made) await files.remove(`${folder}/${path}`);
    throw error;
  }
}
