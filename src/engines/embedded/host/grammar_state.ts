import type { LlamaGrammarEvaluationState } from "node-llama-cpp";
import type { Constraint } from "./constraint.ts";
import type { ChatModel } from "./load_model.ts";
import { RequestError } from "./request_error.ts";

/**
 * Compile a grammar for one answer.
 *
 * @param chat Whose vocabulary it filters.
 * @param text GBNF.
 * @returns Its state before the first token.
 * @throws {RequestError} When llama.cpp can not read the grammar.
 */
export async function createGrammarState(
  chat: ChatModel,
  text: string,
): Promise<LlamaGrammarEvaluationState> {
  const { LlamaGrammarEvaluationState } = await import("node-llama-cpp");
  try {
    const grammar = await chat.llama.createGrammar({ grammar: text });
    return new LlamaGrammarEvaluationState({ model: chat.model, grammar });
  } catch (problem) {
    const said = problem instanceof Error ? problem.message : String(problem);
    throw new RequestError(
      400,
      `The grammar of this request can not be used: ${said}`,
      { param: "grammar" },
    );
  }
}

/** Watches for the moment at which a lazy constraint sets in. */
export class GrammarTrigger {
  readonly #constraint: Constraint;
  #seen = "";
  #fired = false;

  /**
   * @param constraint What the answer is held to; only a lazy one ever fires.
   */
  constructor(constraint: Constraint) {
    this.#constraint = constraint;
  }

  /**
   * Put text in.
   *
   * @param text The next piece of the answer.
   * @returns The grammar to follow from now on, or null for no change.
   */
  push(text: string): string | null {
    const constraint = this.#constraint;
    if (constraint.kind !== "lazy" || this.#fired) return null;
    const { marker, anchored } = constraint;
    this.#seen += text;
    const at = this.#seen.indexOf(marker);
    if (at >= 0) {
      this.#fired = true;
      const isAway = anchored && this.#seen.slice(0, at).trim() !== "";
      const written = this.#seen.slice(at + marker.length);
      this.#seen = "";
      return isAway ? null : constraint.grammarAfter(written);
    }
    if (anchored) {
      const begun = this.#seen.trimStart();
      this.#fired = !marker.startsWith(begun);
    } else {
      this.#seen = this.#seen.slice(-marker.length);
    }
    return null;
  }
}
