import { CHUNK_BYTES, type FileDigest } from "../domain/mod.ts";
import type { Files } from "../platform/mod.ts";

/** Small enough that the event loop is never held for more than a millisecond or two. */
const READ_BYTES = 1024 * 1024;

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
  const { createHash } = await import("node:crypto");
  using file = await files.open(path);
  const whole = createHash("sha256");
  const buffer = new Uint8Array(READ_BYTES);
  const chunks: string[] = [];
  let sizeBytes = 0;
  for (let ended = false; !ended;) {
    await pace(sizeBytes);
    const chunk = createHash("sha256");
    let chunkBytes = 0;
    while (chunkBytes < CHUNK_BYTES) {
      signal.throwIfAborted();
      const count = await file.readInto(sizeBytes, buffer);
      const bytes = buffer.subarray(0, count);
      whole.update(bytes);
      chunk.update(bytes);
      chunkBytes += count;
      sizeBytes += count;
      ended = count < READ_BYTES;
      if (ended) break;
    }
    if (chunkBytes > 0) chunks.push(chunk.digest("hex"));
  }
  return { sizeBytes, sha256: whole.digest("hex"), chunks };
}
