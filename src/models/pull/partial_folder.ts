import type { Log } from "../../domain/mod.ts";
import {
  type Clock,
  type FileFact,
  type Files,
  ifThere,
} from "../../platform/mod.ts";

/** Partial files of no pull are kept that long for whoever pulls again. */
export const STALE_MS = 7 * 24 * 3_600_000;
/** Hidden, so that no scan takes what is in it for a model. */
export const PARTIAL_FOLDER = ".partial";

/** What looking after partial files needs. */
export interface PartialPorts {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly modelsDir: string;
}

/**
 * Remove partial files that nobody has touched for a week and no pull wants,
 * and tell of it.
 *
 * @param ports What it needs.
 * @param isWanted Whether a pull of that id is there.
 * @returns Names of what was removed.
 * @throws {FileError} When the folder can not be read or changed.
 */
export async function collectPartials(
  { clock, files, log, modelsDir }: PartialPorts,
  isWanted: (id: string) => boolean,
): Promise<readonly string[]> {
  const folder = `${modelsDir}/${PARTIAL_FOLDER}`;
  // A link in its place would have other folders' contents removed.
  const isFolder = (await entriesIn(files, modelsDir)).some((entry) =>
    entry.name === PARTIAL_FOLDER && entry.kind === "folder"
  );
  if (!isFolder) return [];
  const removed: string[] = [];
  for (const { name } of await entriesIn(files, folder)) {
    if (isWanted(name)) continue;
    const path = `${folder}/${name}`;
    const touchedMs = await lastTouchedMs(files, path);
    if (touchedMs === null || clock.now() - touchedMs < STALE_MS) continue;
    await files.remove(path);
    removed.push(name);
    log.info("Removed partial files that nobody went on with for a week", {
      pull: name,
    });
  }
  return removed;
}

/**
 * Remove the folder of a pull in which nothing came.
 *
 * @param files The file system.
 * @param folder The pull's own.
 * @throws {FileError} When it can not be read or removed.
 */
export async function removeIfEmpty(
  files: Files,
  folder: string,
): Promise<void> {
  const entries = await ifThere(files.list(folder));
  if (entries?.length === 0) await files.remove(folder);
}

/** A folder's own time stands still while files in it grow: the newest in it counts. */
async function lastTouchedMs(
  files: Files,
  path: string,
): Promise<number | null> {
  const { kind, modifiedMs } = await files.stat(path);
  if (kind !== "folder") return modifiedMs;
  let newest = modifiedMs;
  for (const { name } of await entriesIn(files, path)) {
    const inner = await files.stat(`${path}/${name}`);
    if (inner.modifiedMs === null) return null;
    newest = Math.max(newest ?? 0, inner.modifiedMs);
  }
  return newest;
}

async function entriesIn(
  files: Files,
  folder: string,
): Promise<readonly FileFact[]> {
  return await ifThere(files.list(folder)) ?? [];
}
