import {
  CHUNK_BYTES,
  type FileDigest,
  isJsonObject,
  type JsonValue,
} from "../domain/mod.ts";
import { FileError, type Files } from "../platform/mod.ts";

const DIGEST = /^[0-9a-f]{64}$/;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Digests of files, kept on disk under what tells a file's content apart
 * without reading it: path, size, time and inode.
 */
export class DigestCache {
  readonly #files: Files;
  readonly #folder: string;

  /**
   * @param files The file system.
   * @param folder Where digests are kept; it is made when the first one is.
   */
  constructor(files: Files, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /**
   * Digest of a file.
   *
   * @param key What tells the file apart.
   * @returns Null where it is not known, or what is kept is not sound.
   * @throws {FileError} When the cache can not be read.
   */
  async read(key: string): Promise<FileDigest | null> {
    try {
      return parse(await this.#files.readText(await this.#pathOf(key)), key);
    } catch (error) {
      if (error instanceof FileError && error.problem === "missing") {
        return null;
      }
      throw error;
    }
  }

  /**
   * Keep a digest.
   *
   * @throws {FileError} When it can not be written.
   */
  async write(key: string, digest: FileDigest): Promise<void> {
    await this.#files.makeFolder(this.#folder, FOLDER_MODE);
    const { sizeBytes, sha256, chunks } = digest;
    await this.#files.writeAtomic(
      await this.#pathOf(key),
      JSON.stringify({ key, sizeBytes, sha256, chunks }),
      FILE_MODE,
    );
  }

  /** Forget a digest. */
  async remove(key: string): Promise<void> {
    await this.#files.remove(await this.#pathOf(key));
  }

  async #pathOf(key: string): Promise<string> {
    const bytes = new TextEncoder().encode(key);
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    return `${this.#folder}/${new Uint8Array(digest).toHex()}.json`;
  }
}

function parse(text: string, key: string): FileDigest | null {
  let kept: JsonValue;
  try {
    kept = JSON.parse(text);
  } catch (error) {
    // Not written by this program: the file is digested anew.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (!isJsonObject(kept) || kept["key"] !== key) return null;
  const { sizeBytes, sha256, chunks } = kept;
  if (
    typeof sizeBytes !== "number" || !isDigest(sha256) ||
    !Array.isArray(chunks) || !chunks.every(isDigest) ||
    chunks.length !== Math.ceil(sizeBytes / CHUNK_BYTES)
  ) return null;
  return { sizeBytes, sha256, chunks };
}

function isDigest(value: JsonValue | undefined): value is string {
  return typeof value === "string" && DIGEST.test(value);
}
