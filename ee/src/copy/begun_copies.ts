import { FileError, type Files } from "@covey/core/platform";

/** Where models arrive; hidden in the models folder: on its file system, and passed over by its scan. */
export const PARTS_FOLDER = ".copies";

/** Roots of copies that were begun here and are not done. */
export async function begunCopies(
  files: Files,
  modelsDir: string,
): Promise<readonly string[]> {
  try {
    const entries = await files.list(`${modelsDir}/${PARTS_FOLDER}`);
    return entries.map(({ name }) => name)
      .filter((name) => /^[0-9a-f]{64}$/.test(name));
  } catch (error) {
    if (error instanceof FileError && error.problem === "missing") return [];
    throw error;
  }
}
