import { CHUNK_BYTES, type FileDigest } from "@covey/core/domain";

/** One piece of a model, as it is asked for, checked and written. */
export interface Chunk {
  /** Place among all chunks of the model. */
  readonly index: number;
  /** Place of its file in the manifest. */
  readonly file: number;
  /** Place among the chunks of its file. */
  readonly position: number;
  /** Where it begins in its file, in bytes. */
  readonly offset: number;
  /** In bytes. */
  readonly length: number;
  /** SHA-256 in lower-case hexadecimal. */
  readonly digest: string;
}

/**
 * Every chunk of a model, file by file.
 *
 * @param files Digests of its files, first part first.
 */
export function planChunks(files: readonly FileDigest[]): readonly Chunk[] {
  const plan: Chunk[] = [];
  for (const [file, { chunks, sizeBytes }] of files.entries()) {
    for (const [position, digest] of chunks.entries()) {
      const offset = position * CHUNK_BYTES;
      plan.push({
        index: plan.length,
        file,
        position,
        offset,
        length: Math.min(CHUNK_BYTES, sizeBytes - offset),
        digest,
      });
    }
  }
  return plan;
}

/**
 * Every chunk of files whose digests come to be known one by one.
 *
 * @param sizes Of the files, in bytes.
 * @param digestOf What is known of a chunk, asked each time; empty for nothing.
 */
export function planSizes(
  sizes: readonly number[],
  digestOf: (file: number, position: number) => string,
): readonly Chunk[] {
  const plan: Chunk[] = [];
  for (const [file, sizeBytes] of sizes.entries()) {
    for (let offset = 0; offset < sizeBytes; offset += CHUNK_BYTES) {
      const position = offset / CHUNK_BYTES;
      plan.push({
        index: plan.length,
        file,
        position,
        offset,
        length: Math.min(CHUNK_BYTES, sizeBytes - offset),
        get digest() {
          return digestOf(file, position);
        },
      });
    }
  }
  return plan;
}
