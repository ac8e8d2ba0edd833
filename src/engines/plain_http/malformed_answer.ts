/** Characters of a strange answer that a message shows. */
const MOST_SHOWN = 60;

/** What a server sent is no HTTP/1.1 that can be read, or goes beyond its bounds. */
export class MalformedAnswerError extends Error {
  override readonly name = "MalformedAnswerError";
}

/**
 * Quote what a server sent: printable, and short.
 *
 * @param text What it sent.
 */
export function quoted(text: string): string {
  const shown = text.slice(0, MOST_SHOWN).replace(/[^\x20-\x7e]/g, "?");
  return `"${shown}${text.length > MOST_SHOWN ? "…" : ""}"`;
}
