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

/** One file of a model. */
export interface ManifestFile extends FileDigest {
  /** Name without folders. */
  readonly name: string;
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
}
