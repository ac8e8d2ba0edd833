import { createHash } from "node:crypto";
import { Fault } from "../../domain/mod.ts";
import type { Files } from "../../platform/mod.ts";
import type { PackPackage } from "./pack_table.ts";

/** Files that a package may hold, and bytes that they may have together. */
const MOST_FILES = 500;
const MOST_BYTES = 4 * 1024 ** 3;
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;
/** A path below the package's own folder, of which nothing leads out. */
const SAFE_PATH =
  /^(?:[A-Za-z0-9_][A-Za-z0-9_.@+-]*\/)*[A-Za-z0-9_][A-Za-z0-9_.@+-]*$/;

/** Where a package is unpacked to, and how. */
export interface Unpacking {
  /** Where its files go; made if need be. */
  readonly folder: string;
  /** Where the tarball itself is kept. */
  readonly archive: string;
  readonly files: Files;
  /** What to do when it is another package; a sentence without its full stop. */
  readonly remedy: string;
  /** Told how many compressed bytes came so far. */
  onBytes(bytes: number): void;
}

/**
 * Unpack an npm package's tarball as it comes, and hold the whole of it against
 * the digest that this build knows. What lies in the folder is to be used only
 * when this has returned, and the kept tarball is that very one then.
 *
 * @param tarball The compressed bytes.
 * @param wanted Which package it must be.
 * @param into Where it goes.
 * @throws {Fault} `hub_failed` when it is another package, or none.
 */
export async function unpackPackage(
  tarball: ReadableStream<Uint8Array<ArrayBuffer>>,
  wanted: PackPackage,
  { archive, files, folder, onBytes, remedy }: Unpacking,
): Promise<void> {
  const { createTarDecoder } = await import("modern-tar");
  const hash = createHash("sha512");
  let takenBytes = 0;
  const notIt = () => differs(wanted, remedy);
  using kept = await files.openForWriting(archive, FILE_MODE);
  const counted = new TransformStream<
    Uint8Array<ArrayBuffer>,
    Uint8Array<ArrayBuffer>
  >({
    async transform(piece, controller) {
      const offset = takenBytes;
      takenBytes += piece.length;
      if (takenBytes > wanted.sizeBytes) throw notIt();
      hash.update(piece);
      await kept.write(offset, piece);
      onBytes(takenBytes);
      controller.enqueue(piece);
    },
  });
  const entries = tarball.pipeThrough(counted)
    .pipeThrough(new DecompressionStream("gzip"))
    .pipeThrough(createTarDecoder({ strict: true }));
  let left = MOST_FILES;
  let leftBytes = MOST_BYTES;
  try {
    for await (const { body, header } of entries) {
      // npm puts everything below one folder, whatever its name.
      const path = header.name.replace(/^[^/]+\//, "");
      const isFile = header.type === undefined || header.type === "file";
      if (!isFile) {
        await body.cancel();
        continue;
      }
      leftBytes -= header.size;
      if (--left < 0 || leftBytes < 0 || !SAFE_PATH.test(path)) throw notIt();
      await writeFile(files, `${folder}/${path}`, body);
    }
  } catch (error) {
    // What is no gzip or no tar is another file than the one that was published.
    if (error instanceof TypeError || isTarError(error)) throw notIt();
    throw error;
  }
  if (`sha512-${hash.digest("base64")}` !== wanted.integrity) throw notIt();
  await kept.sync();
}

async function writeFile(
  files: Files,
  path: string,
  body: ReadableStream<Uint8Array>,
): Promise<void> {
  await files.makeFolder(path.slice(0, path.lastIndexOf("/")), FOLDER_MODE);
  using file = await files.openForWriting(path, FILE_MODE);
  let offset = 0;
  for await (const piece of body) {
    await file.write(offset, Uint8Array.from(piece));
    offset += piece.length;
  }
  await file.sync();
}

function isTarError(error: unknown): boolean {
  return error instanceof Error && /tar|checksum|header/i.test(error.message) &&
    !(error instanceof Fault) && error.name !== "FileError";
}

function differs({ name }: PackPackage, remedy: string): Fault {
  return new Fault(
    "hub_failed",
    `What came for "${name}" is not what was published: its digest differs; nothing of it is used. ${remedy}`,
  );
}
