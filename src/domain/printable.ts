/**
 * Escape what a terminal obeys instead of showing: control characters, line
 * ends, marks of text direction, and halves of characters.
 *
 * @param text Any text, also a hostile one.
 * @returns One line in which those stand as `\n` or `\u001b`.
 */
export function escapeUnprintable(text: string): string {
  return text.toWellFormed().replace(
    /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (mark) =>
      mark === "\n"
        ? "\\n"
        : `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
