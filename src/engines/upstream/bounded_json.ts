import type { JsonValue, PieceSource } from "../../domain/mod.ts";

/** A catalogue of a thousand models is far smaller. */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * Read a body as JSON, up to a bound.
 *
 * @param body The body; it is used up or cancelled.
 * @returns The value, or undefined for a body that is longer or no JSON.
 * @throws {Error} When the server breaks off.
 */
export async function readBoundedJson(
  body: PieceSource,
): Promise<JsonValue | undefined> {
  const text = await readBoundedText(body, MOST_BYTES);
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // What is no JSON is another kind of server: its caller says so.
    return undefined;
  }
}

/**
 * Read a body as text, up to a bound.
 *
 * @param body The body; it is used up or cancelled.
 * @param mostBytes The bound.
 * @returns The text, or null for a body that is longer.
 * @throws {Error} When the server breaks off.
 */
export async function readBoundedText(
  body: PieceSource,
  mostBytes: number,
): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const piece = await body.read();
    if (piece === undefined) break;
    bytes += piece.length;
    if (bytes > mostBytes) {
      await body.cancel(null);
      return null;
    }
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}
