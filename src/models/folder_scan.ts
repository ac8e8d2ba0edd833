import { FileError, type Files } from "../platform/mod.ts";
import type { GgufFile } from "./model_files.ts";

const DEEPEST = 8;
const MOST_ENTRIES = 50_000;

/** A name in the models folder that was not taken, and why. */
export interface RefusedEntry {
  readonly path: string;
  readonly reason: string;
}

/** What the models folder holds by name, before any file is opened. */
export interface FolderScan {
  readonly files: readonly GgufFile[];
  readonly refused: readonly RefusedEntry[];
}

/**
 * Walk the models folder. A link is followed only when what it leads to is a
 * regular file of the folder itself, as in the cache layout of Hugging Face
 * (`snapshots/…/m.gguf` → `blobs/…`): whoever may put links here must not
 * thereby have other files of this machine read. Hidden names are passed over.
 *
 * @param files The file system.
 * @param root The models folder.
 * @param signal Aborting it ends the walk with the signal's reason.
 * @returns Files named `….gguf`, and what was refused.
 * @throws {FileError} When the folder itself can not be listed.
 */
export async function scanFolder(
  files: Files,
  root: string,
  signal: AbortSignal,
): Promise<FolderScan> {
  const walk: Walk = {
    files,
    root,
    signal,
    found: [],
    links: [],
    refused: [],
    identities: new Set(),
    entries: 0,
  };
  await walkFolder(walk, "", 0);
  for (const path of walk.links) await followLink(walk, path);
  return { files: walk.found, refused: walk.refused };
}

interface Walk {
  readonly files: Files;
  readonly root: string;
  readonly signal: AbortSignal;
  readonly found: GgufFile[];
  readonly links: string[];
  readonly refused: RefusedEntry[];
  /** Device and inode of every regular file in the folder. */
  readonly identities: Set<string>;
  entries: number;
}

async function walkFolder(
  walk: Walk,
  folder: string,
  depth: number,
): Promise<void> {
  const entries = await walk.files.list(
    folder === "" ? walk.root : `${walk.root}/${folder}`,
  );
  for (const entry of entries) {
    walk.signal.throwIfAborted();
    if (entry.name.startsWith(".")) continue;
    if (++walk.entries > MOST_ENTRIES) return;
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    switch (entry.kind) {
      case "file":
        await takeFile(walk, path);
        break;
      case "folder":
        if (depth < DEEPEST) await enterFolder(walk, path, depth + 1);
        break;
      case "link":
        if (isGguf(path)) walk.links.push(path);
        break;
      case "other":
        break;
      default: {
        const never: never = entry.kind;
        return never;
      }
    }
  }
}

async function enterFolder(
  walk: Walk,
  path: string,
  depth: number,
): Promise<void> {
  try {
    await walkFolder(walk, path, depth);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    // A folder that went away in mid-walk is no news; others are worth a line.
    if (error.problem !== "missing") {
      walk.refused.push({ path, reason: "The folder can not be listed" });
    }
  }
}

async function takeFile(walk: Walk, path: string): Promise<void> {
  try {
    const stat = await walk.files.stat(`${walk.root}/${path}`);
    if (stat.identity !== null) walk.identities.add(stat.identity);
    if (isGguf(path)) {
      const { sizeBytes, modifiedMs, identity } = stat;
      walk.found.push({ path, sizeBytes, modifiedMs, identity });
    }
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    if (isGguf(path) && error.problem !== "missing") {
      walk.refused.push({ path, reason: "The file can not be inspected" });
    }
  }
}

async function followLink(walk: Walk, path: string): Promise<void> {
  walk.signal.throwIfAborted();
  try {
    const stat = await walk.files.stat(`${walk.root}/${path}`);
    if (
      stat.kind !== "file" || stat.identity === null ||
      !walk.identities.has(stat.identity)
    ) {
      walk.refused.push({
        path,
        reason:
          "The link leads out of the models folder: put the file itself there, or set COVEY_MODELS_DIR to where it lies",
      });
      return;
    }
    const { sizeBytes, modifiedMs, identity } = stat;
    walk.found.push({ path, sizeBytes, modifiedMs, identity });
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    walk.refused.push({
      path,
      reason: error.problem === "missing"
        ? "The link leads to no file"
        : "The link can not be followed",
    });
  }
}

function isGguf(path: string): boolean {
  return path.endsWith(".gguf");
}
