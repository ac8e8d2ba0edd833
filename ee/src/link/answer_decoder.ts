import { z } from "zod";
import type { AnswerFrame } from "./answer_frame.ts";
import { parseBoundedJson } from "./bounded_json.ts";
import { parseQueueReport } from "./queue_wire.ts";
import { WireError } from "./wire_error.ts";

const MAX_LINE_BYTES = 64 * 1024;
const MAX_DATA_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;
const COLON = 0x3a;

const retryAfterMs = z.number().nonnegative().nullable().catch(null);
const acceptedSchema = z.object({
  queue: z.unknown().transform(parseQueueReport),
  dispatchesSeen: z.number().int().nonnegative(),
});
const refusedSchema = z.object({
  reason: z.enum([
    "queue_full",
    "duplicate_attempt",
    "draining",
    "model_not_here",
    "not_lent",
  ]),
  message: z.string().max(4096),
  retryAfterMs,
});
const answerSchema = z.object({
  status: z.number().int().min(100).max(599),
  contentType: z.string().max(256).regex(/^[\x20-\x7e]*$/),
  retryAfter: z.string().max(256).regex(/^[\x20-\x7e]*$/).nullable(),
});
const faultSchema = z.object({
  // A code of a newer version reads as the engine's failure, which it is to us.
  code: z.enum([
    "invalid_request",
    "unsupported_media_type",
    "body_too_large",
    "body_timeout",
    "unauthorized",
    "forbidden",
    "model_not_found",
    "wrong_capability",
    "not_found",
    "route_not_found",
    "method_not_allowed",
    "context_length_exceeded",
    "not_implemented",
    "queue_full",
    "cooling_down",
    "no_candidate",
    "shutting_down",
    "engine_failed",
    "engine_loading",
    "engine_timeout",
    "link_failed",
    "model_too_large",
    "insufficient_memory",
    "internal",
  ]).catch("engine_failed"),
  message: z.string().max(4096),
  origin: z.enum(["covey", "engine"]).catch("covey"),
  retryAfterMs,
});

/** Where in an answer the decoder stands. */
type Stage = "first" | "accepted" | "body" | "over";

/**
 * Reads an attempt's answer from any cut of its bytes, and refuses every order
 * of frames but the one an answer has. It holds no more than one line.
 */
export class AnswerDecoder {
  #stage: Stage = "first";
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  /** Body bytes of the current data frame still to come. */
  #dataLeft = 0;

  /** Whether the last frame has been read. */
  get over(): boolean {
    return this.#stage === "over";
  }

  /**
   * Take more bytes.
   *
   * @param chunk The next bytes; `data` frames keep views into it.
   * @returns The frames that they complete; a `data` frame may come in pieces.
   * @throws {WireError} When this is no answer.
   */
  push(chunk: Uint8Array): AnswerFrame[] {
    const frames: AnswerFrame[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#dataLeft > 0) {
        const bytes = chunk.subarray(at, at + this.#dataLeft);
        this.#dataLeft -= bytes.length;
        at += bytes.length;
        frames.push({ kind: "data", bytes });
        continue;
      }
      if (this.#stage === "over") {
        throw new WireError("Cannot read bytes after the end of an answer");
      }
      const end = chunk.indexOf(NEWLINE, at);
      const piece = chunk.subarray(at, end < 0 ? chunk.length : end);
      this.#lineBytes += piece.length;
      if (this.#lineBytes > MAX_LINE_BYTES) {
        throw new WireError(
          `Cannot read an answer's line over ${MAX_LINE_BYTES} bytes`,
        );
      }
      if (end < 0) {
        // A copy: the rest of the chunk must not be kept alive by one line.
        this.#line.push(piece.slice());
        break;
      }
      at = end + 1;
      const frame = this.#readLine(this.#takeLine(piece));
      if (frame !== undefined) frames.push(frame);
    }
    return frames;
  }

  #takeLine(last: Uint8Array): Uint8Array {
    if (this.#line.length === 0) {
      this.#lineBytes = 0;
      return last;
    }
    const whole = new Uint8Array(this.#lineBytes);
    let at = 0;
    for (const piece of [...this.#line, last]) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#line = [];
    this.#lineBytes = 0;
    return whole;
  }

  /** Undefined for a `data` line, whose bytes follow as frames of their own. */
  #readLine(line: Uint8Array): AnswerFrame | undefined {
    if (line.length === 1 && line[0] === COLON) return { kind: "alive" };
    const space = line.indexOf(0x20);
    const word = new TextDecoder().decode(
      line.subarray(0, space < 0 ? line.length : Math.min(space, 16)),
    );
    const rest = space < 0 ? new Uint8Array() : line.subarray(space + 1);
    switch (word) {
      case "accepted": {
        this.#step(["first"], "accepted", word);
        const { queue, dispatchesSeen } = read(acceptedSchema, rest, word);
        if (queue === undefined) {
          throw new WireError("Cannot read the queue of an accepted attempt");
        }
        return { kind: "accepted", queue, dispatchesSeen };
      }
      case "refused":
        this.#step(["first"], "over", word);
        return { kind: "refused", ...read(refusedSchema, rest, word) };
      case "answer":
        this.#step(["accepted"], "body", word);
        return { kind: "answer", ...read(answerSchema, rest, word) };
      case "data":
        this.#step(["body"], "body", word);
        this.#dataLeft = dataLength(rest);
        return undefined;
      case "end":
        this.#step(["body"], "over", word);
        return { kind: "end" };
      case "fault":
        this.#step(["first", "accepted", "body"], "over", word);
        return { kind: "fault", ...read(faultSchema, rest, word) };
      default:
        throw new WireError("Cannot read an unknown line of an answer");
    }
  }

  #step(from: readonly Stage[], to: Stage, word: string): void {
    if (!from.includes(this.#stage)) {
      throw new WireError(`Cannot read "${word}" at this place of an answer`);
    }
    this.#stage = to;
  }
}

function read<Fields>(
  schema: z.ZodType<Fields>,
  bytes: Uint8Array,
  word: string,
): Fields {
  const parsed = schema.safeParse(parseBoundedJson(bytes));
  if (!parsed.success) {
    throw new WireError(`Cannot read the fields of "${word}"`);
  }
  return parsed.data;
}

function dataLength(digits: Uint8Array): number {
  const text = new TextDecoder().decode(digits);
  const length = /^[0-9]{1,8}$/.test(text) ? Number(text) : NaN;
  if (!(length <= MAX_DATA_BYTES)) {
    throw new WireError(
      `Cannot read a piece of a body over ${MAX_DATA_BYTES} bytes`,
    );
  }
  return length;
}
