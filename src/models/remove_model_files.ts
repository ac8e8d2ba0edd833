import { FileError, type Files } from "../platform/mod.ts";
import { folderOf, type ModelFiles } from "./model_files.ts";

/**
 * Remove a model's files, and the folders that are left empty by that: they
 * would be in the way of its next copy.
 *
 * @param files The file system.
 * @param modelsDir The models folder.
 * @param model Its files.
 * @param place The folder of its first part, from the models folder, and the vision parts that the last model of a folder takes along.
 * @throws {FileError} When a file can not be removed.
 */
export async function removeModelFiles(
  files: Files,
  modelsDir: string,
  model: ModelFiles,
  place: { readonly folder: string; readonly along: readonly string[] },
): Promise<void> {
  // Without its first part a model is not offered, whatever comes after.
  for (const { path } of model.files) {
    await files.remove(`${modelsDir}/${path}`);
  }
  for (const path of place.along) await files.remove(`${modelsDir}/${path}`);
  try {
    for (let at = place.folder; at !== ""; at = folderOf(at)) {
      if (!await files.removeEmptyFolder(`${modelsDir}/${at}`)) return;
    }
  } catch (error) {
    // The model is gone, which alone was asked for.
    if (!(error instanceof FileError)) throw error;
  }
}
