import {
  CHUNK_BYTES,
  type FileDigest,
  type ModelManifest,
} from "../domain/mod.ts";
import type { Files } from "../platform/mod.ts";
import { rootOf } from "./manifest.ts";
import type { ModelDigests } from "./model_digests.ts";
import { baseOf, fileKeyOf, type GgufFile } from "./model_files.ts";

/** What goes with a model: files with their digests, in the order that their digests have. */
export interface Companions {
  readonly root: string;
  readonly files: readonly {
    readonly file: GgufFile;
    readonly digest: FileDigest;
  }[];
}

/**
 * Knows what goes with models. It is named by a root of its own, made as that
 * of a model, whatever its files are called and in whatever order they lie there.
 */
export class CompanionFiles {
  readonly #digests: Pick<ModelDigests, "recall">;
  /** By the key of the files. */
  readonly #known = new Map<string, Companions>();

  /** @param digests Of the files. */
  constructor(digests: Pick<ModelDigests, "recall">) {
    this.#digests = digests;
  }

  /**
   * What files make up together.
   *
   * @param files Those that lie with a model.
   * @returns Null where there are none, or not all are digested yet.
   * @throws {FileError} When their digests can not be read.
   */
  async of(files: readonly GgufFile[]): Promise<Companions | null> {
    const [first, ...rest] = files;
    if (first === undefined) return null;
    const key = files.map(fileKeyOf).join("\n");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const digests = await this.#digests.recall({
      kind: "complete",
      name: first.path,
      files: [first, ...rest],
    });
    if (digests === null) return null;
    const sorted = files.flatMap((file, at) => {
      const digest = digests[at];
      return digest === undefined ? [] : [{ file, digest }];
    }).sort((a, b) => a.digest.sha256 < b.digest.sha256 ? -1 : 1);
    const root = await rootOf(sorted.map(({ digest }) => digest));
    const made = { root, files: sorted };
    // What lies there now is all that is asked for.
    if (this.#known.size >= 1_000) this.#known.clear();
    this.#known.set(key, made);
    return made;
  }
}

/**
 * What goes with a model, as a manifest.
 *
 * @param model Name of the model.
 * @param companions What goes with it.
 */
export function manifestOfCompanions(
  model: string,
  { files, root }: Companions,
): ModelManifest {
  return {
    model,
    root,
    files: files.map(({ digest, file }) => ({
      name: baseOf(file.path),
      ...digest,
    })),
    // Of a vision part, which is no model by itself.
    architecture: "clip",
    contextLength: 0,
    quantisation: null,
  };
}

/**
 * Read one chunk of a file of the models folder.
 *
 * @param files The file system.
 * @param modelsDir The models folder.
 * @param file The file; undefined for none.
 * @param chunk Position of the chunk in it.
 * @param room Memory for a chunk that may be used for the result.
 * @returns Null where there is none.
 * @throws {FileError} When it can not be read.
 */
export async function readFileChunk(
  files: Files,
  modelsDir: string,
  file: GgufFile | undefined,
  chunk: number,
  room?: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const offset = chunk * CHUNK_BYTES;
  if (file === undefined || !(offset >= 0 && offset < file.sizeBytes)) {
    return null;
  }
  using open = await files.open(`${modelsDir}/${file.path}`);
  const length = Math.min(CHUNK_BYTES, file.sizeBytes - offset);
  const bytes = room?.subarray(0, length) ?? new Uint8Array(length);
  return bytes.subarray(0, await open.readInto(offset, bytes));
}
