import type { Capability } from "../domain/mod.ts";
import { readAnswer } from "./answer_facts.ts";
import { AnswerTally } from "./answer_tally.ts";
import { decodes } from "./estimate.ts";
import { SseEvents } from "./sse_events.ts";
import { readStreamEvent } from "./stream_facts.ts";
import { parseWhole } from "./whole_answer.ts";

/** Only answers of a size that a text can have are parsed for their counts. */
const MAX_PARSED_BYTES = 16 * 1024 * 1024;

/**
 * Reads along what one answer of an engine shows of its speed: counts, timings,
 * and when its first and last content came.
 */
export class AnswerMeter {
  readonly tally: AnswerTally = new AnswerTally();
  readonly #stream: boolean;
  readonly #parse: boolean;
  readonly #cutter = new SseEvents();
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #complete = false;
  #firstContentAtMs: number | null = null;
  #lastContentAtMs: number | null = null;

  /**
   * @param capability What is done.
   * @param contentType Of the answer.
   */
  constructor(capability: Capability, contentType: string) {
    this.#stream = contentType.startsWith("text/event-stream");
    this.#parse = decodes(capability);
  }

  /** Whether the answer came to its proper end. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Monotonic times of first and last content of a stream, or null. */
  get content(): { readonly firstMs: number; readonly lastMs: number } | null {
    return this.#firstContentAtMs === null || this.#lastContentAtMs === null
      ? null
      : { firstMs: this.#firstContentAtMs, lastMs: this.#lastContentAtMs };
  }

  /**
   * Take a piece in.
   *
   * @param bytes What came.
   * @param nowMs Monotonic time.
   */
  piece(bytes: Uint8Array, nowMs: number): void {
    this.#bytes += bytes.length;
    if (this.#stream) {
      for (const event of this.#cutter.push(bytes)) this.#event(event, nowMs);
    } else if (this.#parse && this.#bytes <= MAX_PARSED_BYTES) {
      this.#pieces.push(bytes);
    }
  }

  /** Take the end in. */
  end(nowMs: number): void {
    if (this.#stream) {
      const rest = this.#cutter.end();
      if (rest.length > 0) this.#event(rest, nowMs);
      return;
    }
    this.#complete = true;
    if (!this.#parse || this.#bytes > MAX_PARSED_BYTES) return;
    const json = parseWhole(this.#pieces);
    this.#pieces = [];
    if (json !== undefined) this.tally.add(readAnswer(json));
  }

  #event(bytes: Uint8Array, nowMs: number): void {
    const event = readStreamEvent(bytes);
    if (event.kind === "done") this.#complete = true;
    if (event.kind !== "chunk") return;
    this.tally.add(event.facts);
    if (!event.facts.hasContent) return;
    this.#firstContentAtMs ??= nowMs;
    this.#lastContentAtMs = nowMs;
  }
}
