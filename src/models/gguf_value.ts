import type { GgufCursor } from "./gguf_cursor.ts";
import { GgufError } from "./gguf_error.ts";

const DEEPEST_ARRAY = 4;
const ARRAY = 9;

/** The value type of a text. */
export const STRING = 8;
/** Bytes of the scalar value types, by their number in the GGUF specification. */
export const SCALAR_BYTES: ReadonlyMap<number, number> = new Map([
  [0, 1],
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 4],
  [5, 4],
  [6, 4],
  [7, 1],
  [10, 8],
  [11, 8],
  [12, 8],
]);

/**
 * Pass over a value, without reading what it holds.
 *
 * @param cursor Where it begins.
 * @param type Its value type.
 * @param depth How many arrays are around it.
 * @returns How many items it has, where it is an array; else null.
 * @throws {GgufError} When it is none that the format knows, or the file ends in it.
 */
export async function skipValue(
  cursor: GgufCursor,
  type: number,
  depth = 0,
): Promise<number | null> {
  const bytes = SCALAR_BYTES.get(type);
  if (bytes !== undefined) {
    cursor.skip(bytes);
    return null;
  }
  if (type === STRING) {
    await skipString(cursor);
    return null;
  }
  if (type === ARRAY) return await skipArray(cursor, depth);
  throw new GgufError("bad_header", `The header has a value of kind ${type}`);
}

async function skipArray(cursor: GgufCursor, depth: number): Promise<number> {
  if (depth >= DEEPEST_ARRAY) {
    throw new GgufError("bad_header", "The header nests arrays too deeply");
  }
  await cursor.fill(12);
  const type = cursor.u32();
  const count = cursor.u64();
  const bytes = SCALAR_BYTES.get(type);
  if (bytes !== undefined) {
    cursor.skip(count * bytes);
    return count;
  }
  // Each item takes 8 bytes or more, so a count that the file can not hold is
  // known before the first item is looked at.
  if (count * 8 > cursor.remaining) {
    throw new GgufError(
      "truncated",
      `The header claims an array of ${count} items, more than the file holds`,
    );
  }
  for (let item = 0; item < count; item++) {
    // Vocabularies are long: no promise for an item that lies in the window.
    if (type === STRING && cursor.has(8)) cursor.skip(cursor.u64());
    else await skipValue(cursor, type, depth + 1);
  }
  return count;
}

async function skipString(cursor: GgufCursor): Promise<void> {
  await cursor.fill(8);
  cursor.skip(cursor.u64());
}

/**
 * Read a text.
 *
 * @param cursor Where it begins.
 * @param longest Most bytes that are read.
 * @param what Whose text it is, for who reads the refusal.
 * @throws {GgufError} When it is longer, or the file ends in it.
 */
export async function readString(
  cursor: GgufCursor,
  longest: number,
  what: string,
): Promise<string> {
  await cursor.fill(8);
  const length = cursor.u64();
  if (length > longest) {
    throw new GgufError(
      "bad_header",
      `${what} of the header is longer than ${longest} bytes`,
    );
  }
  await cursor.fill(length);
  return new TextDecoder().decode(cursor.bytes(length));
}
