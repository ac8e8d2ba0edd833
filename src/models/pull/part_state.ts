import { isJsonObject, type JsonValue } from "../../domain/mod.ts";
import { type Files, ifThere } from "../../platform/mod.ts";

/** What is known of a file that is partly here. */
export interface PartState {
  readonly sizeBytes: number;
  /** Strong ETag of the bytes, or null. */
  readonly etag: string | null;
  /** SHA-256 that the source published, or null. */
  readonly sha256: string | null;
  readonly pieceBytes: number;
  /** Numbers of the pieces that are here. */
  readonly done: readonly number[];
  /** Those of them that members gave: without a published digest they do not count. */
  readonly relayed?: readonly number[];
}

/**
 * Read what is known of a partial file.
 *
 * @param files The file system.
 * @param part Path of the partial file.
 * @returns Null where nothing is, or the file is longer than it may be.
 * @throws {FileError} When it can not be read.
 */
export async function readPartState(
  files: Files,
  part: string,
): Promise<PartState | null> {
  const text = await ifThere(files.readText(`${part}.json`));
  const state = text === null ? null : parse(text);
  if (state === null) return null;
  const stat = await ifThere(files.stat(part));
  return stat === null || stat.sizeBytes > state.sizeBytes ? null : state;
}

/**
 * Read what is known of a partial file that was whole and lies elsewhere by now.
 *
 * @param files The file system.
 * @param part Path that the partial file had.
 * @returns Null where it is there still, was not whole, or nothing is known.
 * @throws {FileError} When it can not be read.
 */
export async function placedPartState(
  files: Files,
  part: string,
): Promise<PartState | null> {
  const text = await ifThere(files.readText(`${part}.json`));
  const state = text === null ? null : parse(text);
  if (state === null || !isWhole(state)) return null;
  return await ifThere(files.stat(part)) === null ? state : null;
}

/** Whether every piece is here. */
export function isWhole({ done, pieceBytes, sizeBytes }: PartState): boolean {
  return new Set(done).size === Math.ceil(sizeBytes / pieceBytes);
}

/**
 * Keep what is known of a partial file.
 *
 * @throws {FileError} When it can not be written.
 */
export async function writePartState(
  files: Files,
  part: string,
  state: PartState,
): Promise<void> {
  await files.writeAtomic(`${part}.json`, JSON.stringify(state), 0o600);
}

/**
 * Remove a partial file and what is known of it.
 *
 * @throws {FileError} When it can not be removed.
 */
export async function dropPart(files: Files, part: string): Promise<void> {
  // Without its state a partial file counts for nothing, so that goes first.
  await files.remove(`${part}.json`);
  await files.remove(part);
}

/**
 * Forget the pieces that members gave: the whole is not what was published.
 *
 * @returns False where there are none.
 * @throws {FileError} When it can not be read or written.
 */
export async function dropRelayed(
  files: Files,
  part: string,
): Promise<boolean> {
  const state = await readPartState(files, part);
  if (state === null || (state.relayed ?? []).length === 0) return false;
  await writePartState(files, part, withoutRelayed(state));
  return true;
}

/**
 * What is known of a partial file, without the pieces that members gave.
 *
 * @param state What is known with them.
 */
export function withoutRelayed({ relayed, ...state }: PartState): PartState {
  const given = new Set(relayed);
  return { ...state, done: state.done.filter((at) => !given.has(at)) };
}

function parse(text: string): PartState | null {
  let kept: JsonValue;
  try {
    kept = JSON.parse(text);
  } catch (error) {
    // Not written by this program: the file is fetched anew.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (!isJsonObject(kept)) return null;
  const { done, etag, pieceBytes, relayed, sha256, sizeBytes } = kept;
  if (
    !isCount(sizeBytes) || !isCount(pieceBytes) || pieceBytes === 0 ||
    !isTextOrNull(etag) || !isTextOrNull(sha256) ||
    !Array.isArray(done) || !done.every(isCount)
  ) return null;
  const state = { sizeBytes, etag, sha256, pieceBytes, done };
  if (relayed === undefined) return state;
  return Array.isArray(relayed) && relayed.every(isCount)
    ? { ...state, relayed }
    : null;
}

function isCount(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isTextOrNull(value: JsonValue | undefined): value is string | null {
  return value === null || typeof value === "string";
}
