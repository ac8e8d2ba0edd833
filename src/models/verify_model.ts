import type { FileDigest, ModelCheck } from "../domain/mod.ts";
import type { ModelDigests } from "./model_digests.ts";
import { baseOf, type ModelFiles } from "./model_files.ts";

/**
 * Compare a model's bytes with the digests that were made when it was found.
 *
 * @param model Its files.
 * @param known Their digests, in the same order.
 * @param digests Digests files anew.
 * @param tell Called now and then with the bytes done.
 * @param signal Aborting it ends the work.
 * @throws {FileError} When a file can not be read.
 */
export async function verifyModel(
  model: ModelFiles,
  known: readonly FileDigest[],
  digests: ModelDigests,
  tell: (doneBytes: number) => void,
  signal: AbortSignal,
): Promise<ModelCheck> {
  const damaged: { name: string; problem: string }[] = [];
  let beforeBytes = 0;
  for (const [at, file] of model.files.entries()) {
    const startBytes = beforeBytes;
    const found = await digests.digest(
      file,
      signal,
      (bytes) => tell(startBytes + bytes),
    );
    beforeBytes += found.sizeBytes;
    const problem = differenceOf(known[at], found);
    if (problem !== null) damaged.push({ name: baseOf(file.path), problem });
  }
  return damaged.length === 0
    ? { kind: "sound" }
    : { kind: "damaged", files: damaged };
}

function differenceOf(
  known: FileDigest | undefined,
  found: FileDigest,
): string | null {
  if (known === undefined) return "It is in no manifest";
  if (known.sizeBytes !== found.sizeBytes) {
    return `It has ${found.sizeBytes} bytes instead of ${known.sizeBytes}`;
  }
  const bad = known.chunks.filter((digest, at) => digest !== found.chunks[at]);
  if (bad.length > 0) {
    return `${bad.length} of ${known.chunks.length} chunks differ from the manifest`;
  }
  return known.sha256 === found.sha256
    ? null
    : "It differs from the manifest as a whole";
}
