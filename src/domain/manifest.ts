import { canonicalJson } from "./canonical_json.ts";

/** Bytes that one chunk digest covers; the last chunk of a file is shorter. */
export const CHUNK_BYTES = 4 * 1024 * 1024;

/** What a file's bytes come to. Digests are SHA-256 in lower-case hexadecimal. */
export interface FileDigest {
  /** Its length. */
  readonly sizeBytes: number;
  /** Of the whole file. */
  readonly sha256: string;
  /** Of each `CHUNK_BYTES` of it, in order. */
  readonly chunks: readonly string[];
}

/** What a file was made from, and what making it takes: of a file that whoever has the original could make. */
export interface Derivation {
  /** Root of the model that it was made from. */
  readonly from: string;
  /** What was done, such that doing it again gives the same bytes. */
  readonly recipe: string;
  /** How long that took where it was done, in milliseconds. */
  readonly tookMs: number;
}

/** Where a file was pulled from, first of all: by whichever member it was. */
export interface FileOrigin {
  /** Repository of a hub, as `org/repo`, a URL without its query, or the model that it was made from. */
  readonly source: string;
  /** Path in the repository; null for a URL. */
  readonly path: string | null;
  /** Commit of the repository; null for a URL. */
  readonly revision: string | null;
  /** Strong ETag that the source gave, or null. */
  readonly etag: string | null;
  /** SHA-256 that the source published, or null where it publishes none. */
  readonly sha256: string | null;
  /** How a member made it; absent or null for what no member made. */
  readonly derived?: Derivation | null;
}

/** One file of a model. */
export interface ManifestFile extends FileDigest {
  /** Name without folders. */
  readonly name: string;
  /** Where it is from; absent or null where nobody noted it. */
  readonly origin?: FileOrigin | null;
}

/** What a model is made of, byte for byte. */
export interface ModelManifest {
  /** Name the model is offered under. */
  readonly model: string;
  /** Identifies the weights: SHA-256 of the canonical form of sizes and digests, whatever the files are called. */
  readonly root: string;
  /** First part first. */
  readonly files: readonly ManifestFile[];
  /** `general.architecture` of the GGUF header. */
  readonly architecture: string;
  /** Context the model was trained for, in tokens. */
  readonly contextLength: number;
  /** For example `Q4_K_M`, or null where the header does not say. */
  readonly quantisation: string | null;
  /**
   * Root of what goes with the model and is no part of its weights, a vision
   * part say; absent where there is nothing, or its digests are not made yet.
   */
  readonly companions?: string;
}

/**
 * The text whose SHA-256 is the root of weights. Names and origins are no part
 * of it, so that one model under two names has one root.
 *
 * @param files Digests of the model's files, first part first.
 */
export function rootTextOf(files: readonly FileDigest[]): string {
  return canonicalJson({
    files: files.map(({ sizeBytes, sha256, chunks }) => ({
      sizeBytes,
      sha256,
      chunks,
    })),
    version: 1,
  });
}

/**
 * The text that is the same for all files of one origin, or null where the
 * origin does not pin the bytes down: a URL whose server gives no validator
 * may give others the next time.
 *
 * @param origins Origins of a model's files, first part first.
 */
export function originTextOf(
  origins: readonly (FileOrigin | null | undefined)[],
): string | null {
  const pinned = origins.flatMap((origin) => {
    if (origin === null || origin === undefined) return [];
    const { etag, path, revision, source } = origin;
    if (revision === null && etag === null) return [];
    // A hub's commit fixes the bytes, whatever its servers call them.
    return [{ source, path, revision, etag: revision === null ? etag : null }];
  });
  return pinned.length === origins.length && pinned.length > 0
    ? canonicalJson({ origins: pinned, version: 1 })
    : null;
}
