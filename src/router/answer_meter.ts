import type { Capability } from "../domain/mod.ts";
import { type AnswerFacts, readAnswer } from "./answer_facts.ts";
import { AnswerTally } from "./answer_tally.ts";
import { type CutEvent, EventCutter } from "./cut_event.ts";
import { decodes } from "./estimate.ts";
import { parseWhole } from "./whole_answer.ts";

/** Only answers of a size that a text can have are parsed for their counts. */
const MAX_PARSED_BYTES = 16 * 1024 * 1024;
const NONE: readonly CutEvent[] = [];

/**
 * Reads along what one answer of an engine shows of its speed: counts, timings,
 * and when its first and last content came.
 */
export class AnswerMeter {
  readonly tally: AnswerTally = new AnswerTally();
  readonly #stream: boolean;
  readonly #parse: boolean;
  readonly #cutter = new EventCutter();
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #complete = false;
  #whole: AnswerFacts | null | undefined = undefined;
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

  /** What an answer tells that is no stream: null where it is no JSON object, undefined where nobody read it. */
  get whole(): AnswerFacts | null | undefined {
    return this.#whole;
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
   * @returns The events that it completed; none where the answer is no stream.
   * @throws {Fault} When an event is too long.
   */
  piece(bytes: Uint8Array, nowMs: number): readonly CutEvent[] {
    if (this.#stream) return this.#seen(this.#cutter.push(bytes), nowMs);
    this.#bytes += bytes.length;
    if (this.#parse && this.#bytes <= MAX_PARSED_BYTES) {
      this.#pieces.push(bytes);
    }
    return NONE;
  }

  /**
   * Take the end in.
   *
   * @param nowMs Monotonic time.
   * @returns What came behind the last blank line of a stream.
   */
  end(nowMs: number): readonly CutEvent[] {
    if (this.#stream) return this.#seen(this.#cutter.end(), nowMs);
    this.#complete = true;
    if (!this.#parse || this.#bytes > MAX_PARSED_BYTES) return NONE;
    const json = parseWhole(this.#pieces);
    this.#pieces = [];
    this.#whole = json === undefined ? null : readAnswer(json);
    if (this.#whole !== null) this.tally.add(this.#whole);
    return NONE;
  }

  #seen(events: readonly CutEvent[], nowMs: number): readonly CutEvent[] {
    for (const { event } of events) {
      if (event?.kind === "done") this.#complete = true;
      if (event?.kind !== "chunk") continue;
      this.tally.add(event.facts);
      if (!event.facts.hasContent) continue;
      this.#firstContentAtMs ??= nowMs;
      this.#lastContentAtMs = nowMs;
    }
    return events;
  }
}
