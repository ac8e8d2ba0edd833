import { MalformedAnswerError, quoted } from "./malformed_answer.ts";

const LF = 0x0a;
const CR = 0x0d;
/** A size with its extensions, which nobody uses; also one trailer field. */
const MOST_LINE_BYTES = 4096;
const MOST_TRAILER_BYTES = 16 * 1024;
const SIZE = /^([0-9a-f]{1,12})[ \t]*(?:;|$)/i;

type Part = "size" | "data" | "data_end" | "trailers" | "over";

/**
 * Takes the chunks of a body apart (RFC 9112, section 7.1). Extensions and
 * trailers are read over, within bounds.
 */
export class ChunkedBody {
  #part: Part = "size";
  #line = "";
  #left = 0;
  #trailerBytes = 0;

  /** Whether the last chunk and the trailers have come. */
  get isOver(): boolean {
    return this.#part === "over";
  }

  /**
   * Take bytes in.
   *
   * @param bytes What came, cut anywhere.
   * @param from Where in them to begin.
   * @param into Receives views of the data in them, in order.
   * @returns Where in the bytes reading ended: before their end only where the body is over.
   * @throws {MalformedAnswerError} When they are no chunks.
   */
  take(bytes: Uint8Array, from: number, into: Uint8Array[]): number {
    let at = from;
    while (at < bytes.length && this.#part !== "over") {
      if (this.#part === "data") {
        const end = Math.min(bytes.length, at + this.#left);
        into.push(bytes.subarray(at, end));
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#part = "data_end";
        continue;
      }
      const found = bytes.indexOf(LF, at);
      const end = found < 0 ? bytes.length : found;
      if (this.#line.length + end - at > MOST_LINE_BYTES) {
        throw new MalformedAnswerError(
          `A line between the chunks of an answer exceeds ${MOST_LINE_BYTES} bytes`,
        );
      }
      for (; at < end; at++) this.#line += String.fromCharCode(bytes[at] ?? 0);
      if (found < 0) return at;
      at = found + 1;
      const line = this.#line;
      this.#line = "";
      this.#endLine(
        line.charCodeAt(line.length - 1) === CR ? line.slice(0, -1) : line,
      );
    }
    return at;
  }

  #endLine(line: string): void {
    switch (this.#part) {
      case "size": {
        const size = SIZE.exec(line)?.[1];
        if (size === undefined) {
          throw new MalformedAnswerError(
            `No chunk of an answer has the size ${quoted(line)}`,
          );
        }
        this.#left = parseInt(size, 16);
        this.#part = this.#left === 0 ? "trailers" : "data";
        return;
      }
      case "data_end":
        if (line !== "") {
          throw new MalformedAnswerError(
            `A chunk of an answer is longer than it says: ${quoted(line)}`,
          );
        }
        this.#part = "size";
        return;
      case "trailers":
        this.#trailerBytes += line.length;
        if (this.#trailerBytes > MOST_TRAILER_BYTES) {
          throw new MalformedAnswerError(
            `The trailers of an answer exceed ${MOST_TRAILER_BYTES} bytes`,
          );
        }
        if (line === "") this.#part = "over";
        return;
      case "data":
      case "over":
        return;
      default: {
        const never: never = this.#part;
        return never;
      }
    }
  }
}
