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
    /** What comes from there on is not in the text yet. */
    let start = from;
    for (let at = from; at < bytes.length;) {
      const found = bytes.indexOf(LF, at);
      const end = found < 0 ? bytes.length : found + 1;
      this.#bytes += end - at;
      if (this.#bytes > MOST_BYTES) {
        throw new MalformedAnswerError(
          `The head of an answer exceeds ${MOST_BYTES} bytes: ${this.quoted}`,
        );
      }
      at = end;
      if (found < 0) break;
      const lineBytes = this.#text.length + end - start - this.#lineStart;
      const before = found > start
        ? bytes[found - 1]
        : this.#text.charCodeAt(this.#text.length - 1);
      if (lineBytes === 1 || (lineBytes === 2 && before === CR)) {
        if (this.#lineStart > 0) {
          // In one go, where all of it came at once.
          const text = this.#text + asText(bytes, start, end);
          const head = text.slice(0, this.#lineStart - 1);
          this.#text = "";
          this.#lineStart = 0;
          this.#bytes = 0;
          return { text: head, end };
        }
        // Some servers send a line end too many after the answer before.
        this.#text = "";
        start = end;
      }
      this.#lineStart = this.#text.length + end - start;
    }
    this.#text += asText(bytes, start, bytes.length);
    return null;
  }
}

/** Each byte a character: a head has no encoding of its own. */
function asText(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let at = start; at < end; at += AT_ONCE) {
    const part = bytes.subarray(at, Math.min(end, at + AT_ONCE));
    text += Reflect.apply(String.fromCharCode, null, part);
  }
  return text;
}
