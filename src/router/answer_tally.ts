import type { AnswerFacts, Timings, Usage } from "./answer_facts.ts";

/**
 * Counts what an answer brought, event by event: what the decision record, the
 * metrics and the learners want to know of it. Holds no text.
 */
export class AnswerTally {
  #contentEvents = 0;
  #usage: Usage | null = null;
  #timings: Timings | null = null;
  #finish: string | null = null;

  /** Take a chunk, or a whole answer, in. */
  add(facts: AnswerFacts): void {
    if (facts.hasContent) this.#contentEvents++;
    this.#usage = facts.usage ?? this.#usage;
    this.#timings = facts.timings ?? this.#timings;
    this.#finish = facts.finish ?? this.#finish;
  }

  /** Chunks that brought any output, mostly a token each. */
  get contentEvents(): number {
    return this.#contentEvents;
  }

  /** As the engine counted them, else one for each event with content. */
  get outputTokens(): number {
    return this.#usage?.outputTokens ?? this.#timings?.outputTokens ??
      this.#contentEvents;
  }

  /** As the engine counted them, or null. */
  get promptTokens(): number | null {
    return this.#usage?.promptTokens ?? null;
  }

  /** The engine's own measurements, or null. */
  get timings(): Timings | null {
    return this.#timings;
  }

  /** Whether a limit ended the answer. */
  get cut(): boolean {
    return this.#finish === "length";
  }

  /** Whether any text, reasoning or tool call came. */
  get hasContent(): boolean {
    return this.#contentEvents > 0;
  }
}
