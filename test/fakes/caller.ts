import assert from "node:assert/strict";
import {
  Fault,
  type InferenceRequest,
  type RoutedAnswer,
} from "../../src/domain/mod.ts";
import type { OwnedRouter } from "../../src/router/mod.ts";
import { WORDS } from "./numbered_engine.ts";

const WORD = /"content":"((?:\d+ )+)"/g;
const VECTOR = /"embedding":\[(\d+)\]/g;

/** How a caller's request came to its end. */
export type CallerEnd =
  | "open"
  /** The answer's own end came. */
  | "whole"
  /** A status of the engine's that is no success. */
  | "status"
  /** A fault in place of an answer, or an error event at its end. */
  | "fault"
  /** The bytes ended with neither. */
  | "cut_short"
  | "left";

/** A client of a router, with what it saw. */
export class Caller {
  readonly request: InferenceRequest;
  end: CallerEnd = "open";
  /** How often its answer ended: once. */
  ends = 0;
  /** What it was given before any body, if anything. */
  answer: RoutedAnswer | null = null;
  #text = "";
  readonly #control = new AbortController();
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #isLazy: boolean;
  readonly #decoder = new TextDecoder();

  /**
   * Ask.
   *
   * @param router Whom.
   * @param request What.
   * @param isLazy Whether it reads nothing until it is told to.
   */
  constructor(router: OwnedRouter, request: InferenceRequest, isLazy: boolean) {
    this.request = request;
    this.#isLazy = isLazy;
    router.route(request, this.#control.signal).then((answer) => {
      this.answer = answer;
      this.#reader = answer.body.getReader();
      if (!this.#isLazy) this.#readOn();
    }, (thrown) => this.#over(thrown instanceof Fault ? "fault" : "left"));
  }

  /** The numbers it was given, words or vectors, in order. */
  get numbers(): readonly number[] {
    const pattern = this.request.capability === "embedding" ? VECTOR : WORD;
    return [...this.#text.matchAll(pattern)].flatMap(([, numbers = ""]) =>
      numbers.trim().split(" ").map(Number)
    );
  }

  /** Its answer has ended once, and is neither cut short without a word nor holds anything twice. */
  assertEnded(): void {
    const { end, numbers, request } = this;
    assert.notEqual(end, "open");
    assert.notEqual(end, "cut_short");
    assert.equal(this.ends, 1);
    const inOrder = numbers.map((_, at) => at);
    assert.deepEqual(numbers, inOrder, "given twice, or lost");
    const { input } = request.body;
    const all = Array.isArray(input) ? input.length : WORDS;
    if (end === "whole") assert.equal(numbers.length, all);
    else if (!request.stream) assert.equal(numbers.length, 0);
  }

  /** Leave: by the signal of its request, or by its body where it has one. */
  leave(how: "signal" | "body"): void {
    if (this.end !== "open") return;
    const isRead = this.#reader !== null && !this.#isLazy;
    if (how === "body" && this.#reader !== null) {
      this.#reader.cancel("left").catch(() => {});
      this.#over("left");
      return;
    }
    this.#control.abort(new Error("left"));
    if (this.#reader !== null && !isRead) this.#over("left");
  }

  /** Read what there is, if it has not begun to. */
  hurry(): void {
    if (!this.#isLazy) return;
    this.#isLazy = false;
    if (this.#reader !== null && this.end === "open") this.#readOn();
  }

  async #readOn(): Promise<void> {
    const reader = this.#reader;
    if (reader === null) return;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        this.#text += this.#decoder.decode(value, { stream: true });
      }
    } catch {
      return this.#over("left");
    }
    if (this.end === "open") this.#over(this.#ended());
  }

  #ended(): CallerEnd {
    if ((this.answer?.status ?? 200) >= 400) return "status";
    if (/"error":\{/.test(this.#text)) return "fault";
    const isWhole = this.request.stream
      ? this.#text.includes("data: [DONE]")
      : /"finish_reason":"stop"|"object":"list"/.test(this.#text);
    return isWhole ? "whole" : "cut_short";
  }

  #over(end: CallerEnd): void {
    this.ends++;
    if (this.end === "open") this.end = end;
  }
}
