import { MalformedAnswerError, quoted } from "./malformed_answer.ts";

const LF = 0x0a;
const CR = 0x0d;
/** Heads of engines have some hundred bytes. */
const MOST_BYTES = 64 * 1024;
/** Bytes that become a text at once; each is an argument of a call. */
const AT_ONCE = 4096;

/** Gathers bytes up to the blank line that ends a head. */
export class HeadCutter {
  #text = "";
  /** Blank lines before the head among them. */
  #bytes = 0;
  /** Where in the text the line under way begins. */
  #lineStart = 0;

  /** Whether nothing of a head has come. */
  get isEmpty(): boolean {
    return this.#text === "";
  }

  /** What has come so far, for a message. */
  get quoted(): string {
    return quoted(this.#text);
  }

  /**
   * Take bytes in.
   *
   * @param bytes What came, cut anywhere.
   * @param from Where in them to begin.
   * @returns Text of the head without its blank line, and where in the bytes
   * the rest begins; null while there is no blank line.
   * @throws {MalformedAnswerError} When the head is too long.
   */
  take(
    bytes: Uint8Array,
    from: number,
  ): { readonly text: string; readonly end: number } | null {
    for (let start = from; start < bytes.length;) {
      const found = bytes.indexOf(LF, start);
      const end = found < 0 ? bytes.length : found + 1;
      this.#bytes += end - start;
      if (this.#bytes > MOST_BYTES) {
        throw new MalformedAnswerError(
          `The head of an answer exceeds ${MOST_BYTES} bytes: ${this.quoted}`,
        );
      }
      this.#text += asText(bytes, start, end);
      start = end;
      if (found < 0) return null;
      const text = this.#text;
      if (isBlank(text, this.#lineStart)) {
        // Some servers send a line end too many after the answer before.
        if (this.#lineStart > 0) {
          this.#text = "";
          const head = text.slice(0, this.#lineStart - 1);
          this.#lineStart = 0;
          this.#bytes = 0;
          return { text: head, end };
        }
        this.#text = "";
      }
      this.#lineStart = this.#text.length;
    }
    return null;
  }
}

/** Whether nothing but a line end comes from there on. */
function isBlank(text: string, from: number): boolean {
  const length = text.length - from;
  return length === 1 || (length === 2 && text.charCodeAt(from) === CR);
}

/** Each byte a character: a head has no encoding of its own. */
function asText(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let at = start; at < end; at += AT_ONCE) {
    text += String.fromCharCode(
      ...bytes.subarray(at, Math.min(end, at + AT_ONCE)),
    );
  }
  return text;
}
