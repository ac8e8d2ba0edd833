import { type EngineAnswer, Fault, type JsonObject } from "../../domain/mod.ts";
import type { AnswerLength } from "./answer_text.ts";
import {
  type AnswerEnd,
  type AnswerFrame,
  closingChunks,
  eventBytes,
  finishChunk,
  openingChunk,
  tokenChunk,
  wholeAnswer,
} from "./simulated_dialect.ts";
import type { LaneEvent } from "./simulated_lane.ts";

/** What one answer is made of. */
export type RunPlan =
  | {
    readonly kind: "generation";
    readonly frame: AnswerFrame;
    readonly stream: boolean;
    readonly finishReason: AnswerLength["finishReason"];
  }
  /** An answer that is known beforehand and only takes its time. */
  | { readonly kind: "given"; readonly answer: JsonObject };

/** A request's simulated answers on their way: hears what their sequences do and writes it out. */
export class SimulatedRun {
  readonly #plan: RunPlan;
  readonly #prefillMs: number;
  readonly #head = Promise.withResolvers<EngineAnswer>();
  readonly #over = Promise.withResolvers<void>();
  readonly #leave: () => void;
  #prefilledMs: number | null = null;
  #firstTokenMs: number | null = null;
  /** Tokens of an answer; all are equally long. */
  #tokens = 0;
  #ended = 0;
  #opened = false;
  #sink: ReadableStreamDefaultController<Uint8Array> | null = null;

  /**
   * @param plan What to answer.
   * @param prefillMs What its prefill takes, without the wait for a slot.
   * @param leave Called when the client cancels the body.
   */
  constructor(plan: RunPlan, prefillMs: number, leave: () => void) {
    this.#plan = plan;
    this.#prefillMs = prefillMs;
    this.#leave = leave;
    // An attempt that is aborted before its answer is asked for has nobody to tell.
    this.#head.promise.catch(() => {});
  }

  /** The answer's head: with the first token of a stream near, or with the whole. */
  get head(): Promise<EngineAnswer> {
    return this.#head.promise;
  }

  /** Resolves when nothing more will come. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /**
   * Take what the lane says.
   *
   * @param index Of which answer.
   */
  hear(event: LaneEvent, index: number): void {
    const plan = this.#plan;
    switch (event.kind) {
      case "prefilled":
        this.#prefilledMs ??= event.atMs;
        this.#open(index);
        return;
      case "token":
        this.#tokens = Math.max(this.#tokens, event.number);
        this.#firstTokenMs ??= event.atMs;
        if (plan.kind === "generation" && this.#sink !== null) {
          this.#write(tokenChunk(plan.frame, index, event.number));
        }
        return;
      case "finished":
        this.#finish(event.atMs, index);
        return;
      case "died":
        this.fail(
          new Fault("engine_failed", "The simulated engine died as told", {
            origin: "engine",
          }),
        );
        return;
      default: {
        const never: never = event;
        return never;
      }
    }
  }

  /** End without an answer, or in the middle of one. */
  fail(reason: unknown): void {
    this.#head.reject(reason);
    this.#sink?.error(reason);
    this.#sink = null;
    this.#over.resolve();
  }

  #open(index: number): void {
    if (this.#plan.kind !== "generation" || !this.#plan.stream) return;
    if (!this.#opened) this.#openStream();
    const opening = openingChunk(this.#plan.frame, index);
    if (opening !== null) this.#write(opening);
  }

  #openStream(): void {
    this.#opened = true;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#sink = controller;
      },
      cancel: () => {
        this.#sink = null;
        this.#over.resolve();
        this.#leave();
      },
    });
    this.#head.resolve({
      status: 200,
      contentType: "text/event-stream",
      retryAfter: null,
      body,
    });
  }

  #finish(atMs: number, index: number): void {
    const plan = this.#plan;
    if (
      plan.kind === "generation" && ++this.#ended < plan.frame.wishes.choices
    ) {
      if (!plan.stream) return;
      this.#write(finishChunk(plan.frame, index, plan.finishReason));
      return;
    }
    if (plan.kind === "given") {
      this.#head.resolve(jsonAnswer(200, plan.answer));
    } else {
      // As llama-server has it, the first token ends the prefill.
      const firstMs = this.#firstTokenMs ?? atMs;
      const end: AnswerEnd = {
        outputTokens: this.#tokens,
        finishReason: plan.finishReason,
        prefillMs: this.#prefillMs + firstMs - (this.#prefilledMs ?? firstMs),
        decodeMs: atMs - firstMs,
      };
      if (plan.stream) this.#close(plan.frame, index, end);
      else this.#head.resolve(jsonAnswer(200, wholeAnswer(plan.frame, end)));
    }
    this.#over.resolve();
  }

  #close(frame: AnswerFrame, index: number, end: AnswerEnd): void {
    for (const closing of closingChunks(frame, index, end)) {
      this.#write(closing);
    }
    this.#sink?.enqueue(eventBytes("[DONE]"));
    this.#sink?.close();
    this.#sink = null;
  }

  #write(data: JsonObject): void {
    // An answer is bounded by its tokens, so a slow reader can not pile up more.
    this.#sink?.enqueue(eventBytes(data));
  }
}

/** A whole answer as bytes. */
export function jsonAnswer(status: number, json: JsonObject): EngineAnswer {
  return {
    status,
    contentType: "application/json",
    retryAfter: null,
    body: new Blob([JSON.stringify(json)]).stream(),
  };
}
