import { CHUNK_BYTES, type FileDigest } from "../domain/mod.ts";
import type { Files } from "../platform/mod.ts";

/** Small enough that the event loop is never held for more than a millisecond or two. */
const READ_BYTES = 1024 * 1024;

/** Digests bytes that come one after the other. */
export interface Digester {
  /** Take the next bytes. */
  update(bytes: Uint8Array): void;
  /** What all of them come to. */
  finish(): FileDigest;
}

/** Begin to digest a file's bytes. */
export async function openDigester(): Promise<Digester> {
  const { createHash } = await import("node:crypto");
  const whole = createHash("sha256");
  const chunks: string[] = [];
  let chunk = createHash("sha256");
  let chunkBytes = 0;
  let sizeBytes = 0;
  const endChunk = () => {
    chunks.push(chunk.digest("hex"));
    chunk = createHash("sha256");
    chunkBytes = 0;
  };
  return {
    update(bytes) {
      whole.update(bytes);
      sizeBytes += bytes.length;
      for (let at = 0; at < bytes.length;) {
        const piece = bytes.subarray(at, at + CHUNK_BYTES - chunkBytes);
        chunk.update(piece);
        at += piece.length;
        chunkBytes += piece.length;
        if (chunkBytes === CHUNK_BYTES) endChunk();
      }
    },
    finish() {
      if (chunkBytes > 0) endChunk();
      return { sizeBytes, sha256: whole.digest("hex"), chunks };
    },
  };
}

/**
 * Digest a file while it is read once, a piece at a time.
 *
 * @param files The file system.
 * @param path Where it lies.
 * @param pace Awaited before each chunk with the bytes done: the way to hold the work back.
 * @param signal Aborting it ends the work with the signal's reason.
 * @returns What the file's bytes come to.
 * @throws {FileError} When it can not be read.
 */
export async function digestFile(
  files: Files,
  path: string,
  pace: (doneBytes: number) => Promise<void>,
  signal: AbortSignal,
): Promise<FileDigest> {
  const digester = await openDigester();
  using file = await files.open(path);
  const buffer = new Uint8Array(READ_BYTES);
  let sizeBytes = 0;
  for (let ended = false; !ended;) {
    if (sizeBytes % CHUNK_BYTES === 0) await pace(sizeBytes);
    signal.throwIfAborted();
    const count = await file.readInto(sizeBytes, buffer);
    digester.update(buffer.subarray(0, count));
    sizeBytes += count;
    ended = count < READ_BYTES;
  }
  return digester.finish();
}
