import { type AnswerHead, parseAnswerHead } from "./answer_head.ts";
import { type BodyFraming, framingOf } from "./body_framing.ts";
import { ChunkedBody } from "./chunked_body.ts";
import { HeadCutter } from "./head_cutter.ts";
import { MalformedAnswerError } from "./malformed_answer.ts";

const SWITCHED = 101;
const LEAST_FINAL = 200;
/** A server says at most `100 Continue` and some hints before its answer. */
const MOST_INTERIM = 16;
const NOTHING = new Uint8Array();

/**
 * Reads the answer to one POST from bytes that come cut anywhere: its head, and
 * its body by length, in chunks or up to the end of the connection. Holds no
 * more than a head.
 */
export class AnswerParser {
  readonly #cutter = new HeadCutter();
  #head: AnswerHead | null = null;
  #framing: BodyFraming | null = null;
  #chunks: ChunkedBody | null = null;
  /** Bytes to come of a body whose length is known. */
  #left = 0;
  #interim = 0;
  #isTouched = false;
  #isOver = false;
  #hasExcess = false;

  /** The head, once it is whole. */
  get head(): AnswerHead | null {
    return this.#head;
  }

  /** Whether anything has come. */
  get isTouched(): boolean {
    return this.#isTouched;
  }

  /** Whether the body has come to its end. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the connection still stands where another answer can begin. */
  get isClean(): boolean {
    return this.#isOver && !this.#hasExcess &&
      this.#framing?.kind !== "until_close";
  }

  /**
   * Take bytes in.
   *
   * @param bytes What came; they may change after this call.
   * @returns What they hold of the body, in a buffer of its own; may be empty.
   * @throws {MalformedAnswerError} When they are no answer.
   */
  push(bytes: Uint8Array): Uint8Array {
    this.#isTouched = true;
    let at = 0;
    while (this.#head === null) {
      const cut = this.#cutter.take(bytes, at);
      if (cut === null) return NOTHING;
      at = cut.end;
      this.#begin(parseAnswerHead(cut.text));
    }
    return this.#body(bytes, at);
  }

  /**
   * Take the end of the connection in.
   *
   * @throws {MalformedAnswerError} When the answer is not whole.
   */
  end(): void {
    if (this.#isOver) return;
    if (this.#framing?.kind === "until_close") {
      this.#isOver = true;
      return;
    }
    if (this.#head !== null) {
      throw new MalformedAnswerError(
        this.#framing?.kind === "length"
          ? `The connection ended ${this.#left} bytes before the answer did`
          : "The connection ended between the chunks of an answer",
      );
    }
    throw new MalformedAnswerError(
      this.#cutter.isEmpty
        ? "The connection ended before an answer began"
        : `The connection ended in an answer's head: ${this.#cutter.quoted}`,
    );
  }

  #begin(head: AnswerHead): void {
    if (head.status < LEAST_FINAL) {
      this.#interim++;
      if (head.status === SWITCHED || this.#interim > MOST_INTERIM) {
        throw new MalformedAnswerError(
          head.status === SWITCHED
            ? "The server changed to another protocol, which was not asked for"
            : `More than ${MOST_INTERIM} heads came before that of the answer`,
        );
      }
      return;
    }
    const framing = framingOf(head);
    this.#head = head;
    this.#framing = framing;
    if (framing.kind === "chunked") this.#chunks = new ChunkedBody();
    if (framing.kind === "length") this.#left = framing.bytes;
    this.#isOver = framing.kind === "none" ||
      (framing.kind === "length" && this.#left === 0);
  }

  #body(bytes: Uint8Array, from: number): Uint8Array {
    if (this.#chunks !== null && !this.#isOver) {
      const parts: Uint8Array[] = [];
      const end = this.#chunks.take(bytes, from, parts);
      this.#isOver = this.#chunks.isOver;
      this.#hasExcess = end < bytes.length;
      return joined(parts);
    }
    const room = bytes.length - from;
    if (this.#isOver) {
      this.#hasExcess ||= room > 0;
      return NOTHING;
    }
    if (this.#framing?.kind === "until_close") return bytes.slice(from);
    const size = Math.min(room, this.#left);
    this.#left -= size;
    this.#isOver = this.#left === 0;
    this.#hasExcess = room > size;
    return bytes.slice(from, from + size);
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (only === undefined) return NOTHING;
  if (parts.length === 1) return only.slice();
  const whole = new Uint8Array(
    parts.reduce((bytes, part) => bytes + part.length, 0),
  );
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
