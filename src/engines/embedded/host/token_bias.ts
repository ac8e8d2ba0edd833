import type { SequenceEvaluateOptions, Token, TokenBias } from "node-llama-cpp";
import type { ChatModel } from "./load_model.ts";
import { checkTokens } from "./prompt.ts";
import type { Sampling } from "./sampling.ts";

/**
 * What node-llama-cpp reads of a `TokenBias`. Its own `set` leaves out the
 * tokens that end an answer, which OpenAI's `logit_bias` and llama-server's
 * `ignore_eos` are allowed to change; so the map is made here. The version of
 * the package is pinned, and a test bans an end.
 */
interface BiasParts {
  readonly _tokenizer: ChatModel["model"]["tokenizer"];
  readonly _biases: ReadonlyMap<Token, number>;
}

/**
 * The biases of a request as an option of the evaluation.
 *
 * @param chat The model.
 * @param sampling The request's wishes.
 * @param hasGrammar Whether a grammar decides when the answer ends; then `ignore_eos` has no say.
 * @returns The option, or nothing where there are no biases.
 * @throws {RequestError} When a token does not exist.
 */
export function biasOf(
  chat: ChatModel,
  sampling: Sampling,
  hasGrammar: boolean,
): Pick<SequenceEvaluateOptions, "tokenBias"> {
  const biases = new Map<Token, number>();
  for (const { token, bias } of sampling.logitBias) {
    const tokens = typeof token === "string"
      ? chat.model.tokenize(token, false)
      : checkTokens([token], chat.vocabularySize, "logit_bias");
    for (const one of tokens) biases.set(one, bias);
  }
  if (sampling.ignoreEos && !hasGrammar) {
    for (const token of chat.endTokens()) biases.set(token, -Infinity);
  }
  if (biases.size === 0) return {};
  const parts: BiasParts = {
    _tokenizer: chat.model.tokenizer,
    _biases: biases,
  };
  return { tokenBias: parts as unknown as TokenBias };
}
