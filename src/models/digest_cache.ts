import {
  CHUNK_BYTES,
  type Derivation,
  type FileDigest,
  type FileOrigin,
  isJsonObject,
  type JsonValue,
} from "../domain/mod.ts";
import { type Files, ifThere } from "../platform/mod.ts";

const DIGEST = /^[0-9a-f]{64}$/;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** A file of its own: it is known before a file is digested, and by others. */
const ORIGIN = ".origin.json";

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
    const path = await this.#pathOf(key);
    const text = await ifThere(this.#files.readText(path));
    return text === null ? null : parse(text, key);
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

  /**
   * Where a file was pulled from.
   *
   * @param key What tells the file apart.
   * @returns Null where it is not known, or what is kept is not sound.
   * @throws {FileError} When the cache can not be read.
   */
  async readOrigin(key: string): Promise<FileOrigin | null> {
    const path = await this.#pathOf(key, ORIGIN);
    const text = await ifThere(this.#files.readText(path));
    return text === null ? null : parseOrigin(text, key);
  }

  /**
   * Keep where a file was pulled from.
   *
   * @throws {FileError} When it can not be written.
   */
  async writeOrigin(key: string, origin: FileOrigin): Promise<void> {
    await this.#files.makeFolder(this.#folder, FOLDER_MODE);
    await this.#files.writeAtomic(
      await this.#pathOf(key, ORIGIN),
      JSON.stringify({ key, ...origin }),
      FILE_MODE,
    );
  }

  /** Forget a digest, and where the file is from. */
  async remove(key: string): Promise<void> {
    await this.#files.remove(await this.#pathOf(key));
    await this.#files.remove(await this.#pathOf(key, ORIGIN));
  }

  async #pathOf(key: string, suffix = ".json"): Promise<string> {
    const bytes = new TextEncoder().encode(key);
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    return `${this.#folder}/${new Uint8Array(digest).toHex()}${suffix}`;
  }
}

function parseOrigin(text: string, key: string): FileOrigin | null {
  let kept: JsonValue;
  try {
    kept = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (!isJsonObject(kept) || kept["key"] !== key) return null;
  const { etag, path, revision, sha256, source } = kept;
  if (
    typeof source !== "string" || !isTextOrNull(etag) || !isTextOrNull(path) ||
    !isTextOrNull(revision) || !isTextOrNull(sha256)
  ) return null;
  const derived = parseDerivation(kept["derived"]);
  const origin = { source, path, revision, etag, sha256 };
  return derived === null ? origin : { ...origin, derived };
}

function parseDerivation(value: JsonValue | undefined): Derivation | null {
  if (!isJsonObject(value)) return null;
  const { from, recipe, tookMs } = value;
  return isDigest(from) && typeof recipe === "string" &&
      typeof tookMs === "number"
    ? { from, recipe, tookMs }
    : null;
}

function isTextOrNull(value: JsonValue | undefined): value is string | null {
  return value === null || typeof value === "string";
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
