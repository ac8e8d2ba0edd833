import { type Entropy, FileError, type Files } from "../../platform/mod.ts";

/** Unix socket paths end at 107 bytes, on macOS at 103. */
const LONGEST_PATH_BYTES = 100;

const OWN_NAME = /^covey-[0-9a-f]{16}$/;

/** Where a socket folder may be made. */
export interface SocketFolderOptions {
  readonly files: Files;
  readonly entropy: Entropy;
  /** Preferred parent, in the node's own data folder, which no other node uses meanwhile. */
  readonly runtimeDir: string;
  /** Parent where the preferred one's path is too long. */
  readonly temporaryDir: string;
}

/** A private folder with names short enough for sockets. */
export interface SocketFolder {
  readonly path: string;
  /** A path in it that no running engine has. */
  newSocket(): string;
}

/**
 * Make a private folder for sockets. Its name is drawn, so that nobody can have
 * made it beforehand. Those of earlier nodes that were killed are removed from
 * the preferred parent.
 *
 * @returns The folder; its owner removes it.
 * @throws {FileError} When it can not be made.
 * @throws {RangeError} When both parents have too long a path.
 */
export async function makeSocketFolder(
  { files, entropy, runtimeDir, temporaryDir }: SocketFolderOptions,
): Promise<SocketFolder> {
  const path = [runtimeDir, temporaryDir]
    .map((parent) => `${parent}/covey-${entropy.bytes(8).toHex()}`)
    .find((folder) => bytesOf(`${folder}/9999.sock`) <= LONGEST_PATH_BYTES);
  if (path === undefined) {
    throw new RangeError(
      `Cannot make a socket in "${temporaryDir}": the path is too long, set TMPDIR to a shorter one`,
    );
  }
  await removeLeftovers(files, runtimeDir);
  await files.makeFolder(path, 0o700);
  let sockets = 0;
  return { path, newSocket: () => `${path}/${++sockets % 10_000}.sock` };
}

async function removeLeftovers(files: Files, parent: string): Promise<void> {
  try {
    for (const { name } of await files.list(parent)) {
      if (OWN_NAME.test(name)) await files.remove(`${parent}/${name}`);
    }
  } catch (error) {
    // There is no parent yet, or what can not be removed is in nobody's way.
    if (!(error instanceof FileError)) throw error;
  }
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
