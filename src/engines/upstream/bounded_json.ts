import type { JsonValue } from "../../domain/mod.ts";

/** A catalogue of a thousand models is far smaller. */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * Read a response's body as JSON, up to a bound.
 *
 * @param response The response; its body is used up or cancelled.
 * @returns The value, or undefined for a body that is longer or no JSON.
 * @throws {TypeError} When the server breaks off.
 */
export async function readBoundedJson(
  response: Response,
): Promise<JsonValue | undefined> {
  const text = await readBoundedText(response, MOST_BYTES);
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // What is no JSON is another kind of server: its caller says so.
    return undefined;
  }
}

/**
 * Read a response's body as text, up to a bound.
 *
 * @param response The response; its body is used up or cancelled.
 * @param mostBytes The bound.
 * @returns The text, or null for a body that is longer.
 * @throws {TypeError} When the server breaks off.
 */
export async function readBoundedText(
  response: Response,
  mostBytes: number,
): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop early cancels the body.
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > mostBytes) return null;
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}
