import { FileError, type FileFact, type Files } from "@covey/core/platform";
import { CopyError } from "./copy_error.ts";

/** Where models arrive; hidden in the models folder: on its file system, and passed over by its scan. */
export const PARTS_FOLDER = ".copies";
/** What came of a copy is kept that long after the last of it did. */
const STALE_MS = 7 * 24 * 3_600_000;

/** Roots of copies that were begun here and are not done. */
export async function begunCopies(
  files: Files,
  modelsDir: string,
): Promise<readonly string[]> {
  try {
    if (await whatIsThere(files, modelsDir) !== "folder") return [];
    const entries = await files.list(`${modelsDir}/${PARTS_FOLDER}`);
    return entries.map(({ name }) => name)
      .filter((name) => /^[0-9a-f]{64}$/.test(name));
  } catch (error) {
    if (error instanceof FileError && error.problem === "missing") return [];
    throw error;
  }
}

/**
 * Refuse to write through what is no folder: a link in its place would lead
 * what comes from members out of the models folder.
 *
 * @param files The file system.
 * @param modelsDir The models folder.
 * @throws {CopyError} When something else has its name.
 * @throws {FileError} When the models folder can not be read.
 */
export async function checkPartsFolder(
  files: Files,
  modelsDir: string,
): Promise<void> {
  const kind = await whatIsThere(files, modelsDir);
  if (kind === null || kind === "folder") return;
  throw new CopyError(
    `"${PARTS_FOLDER}" in the models folder is a ${kind}, no folder: move it away`,
  );
}

async function whatIsThere(
  files: Files,
  modelsDir: string,
): Promise<FileFact["kind"] | null> {
  try {
    const entries = await files.list(modelsDir);
    return entries.find(({ name }) => name === PARTS_FOLDER)?.kind ?? null;
  } catch (error) {
    if (error instanceof FileError && error.problem === "missing") return null;
    throw error;
  }
}

/**
 * Whether nothing has come of a copy for a week: who began it has forgotten it.
 *
 * @param files The file system.
 * @param modelsDir The models folder.
 * @param root Root of the model.
 * @param nowMs Wall-clock time.
 * @throws {FileError} When it can not be told.
 */
export async function isForgotten(
  files: Files,
  modelsDir: string,
  root: string,
  nowMs: number,
): Promise<boolean> {
  const folder = `${modelsDir}/${PARTS_FOLDER}/${root}`;
  const names = (await files.list(folder)).filter(({ kind }) => kind === "file")
    .map(({ name }) => name);
  // Each start writes the others anew.
  const parts = names.filter((name) => name.endsWith(".part"));
  let newestMs = 0;
  for (const name of parts.length > 0 ? parts : names) {
    const { modifiedMs } = await files.stat(`${folder}/${name}`);
    if (modifiedMs === null) return false;
    newestMs = Math.max(newestMs, modifiedMs);
  }
  return nowMs - newestMs >= STALE_MS;
}
