import type { LlamaModel, Token } from "node-llama-cpp";
import { RequestError } from "./request_error.ts";

/**
 * Tokenize a prompt, with the token that begins a sequence where the model
 * wants one.
 *
 * @param model Whose vocabulary.
 * @param text The prompt; texts of special tokens count as those tokens.
 * @returns Its tokens.
 */
export function tokenizePrompt(model: LlamaModel, text: string): Token[] {
  const { bos, bosString, shouldPrependBosToken } = model.tokens;
  if (!shouldPrependBosToken || bos === null) return model.tokenize(text, true);
  // Templates often write the beginning token themselves.
  const isWritten = bosString !== null && bosString !== "" &&
    text.startsWith(bosString);
  const rest = isWritten ? text.slice(bosString.length) : text;
  return [bos, ...model.tokenize(rest, true)];
}

/**
 * Check ids of tokens that a caller sent.
 *
 * @param ids The caller's numbers.
 * @param vocabularySize Number of tokens there are.
 * @param param Name of their field.
 * @returns The same as tokens.
 * @throws {RequestError} When one is no token.
 */
export function checkTokens(
  ids: readonly number[],
  vocabularySize: number,
  param: string,
): Token[] {
  return ids.map((id) => {
    if (Number.isInteger(id) && id >= 0 && id < vocabularySize) {
      return id as Token;
    }
    throw new RequestError(
      400,
      `The field "${param}" has the token ${id}; this model has tokens 0 to ${
        vocabularySize - 1
      }`,
      { param },
    );
  });
}

/**
 * Refuse what does not fit: an overflow is never cut.
 *
 * @param promptTokens Length of the prompt or input.
 * @param contextLength What fits.
 * @param needsRoom Whether at least one token must be left for the answer.
 * @throws {RequestError} When it does not fit.
 */
export function checkContext(
  promptTokens: number,
  contextLength: number,
  needsRoom: boolean,
): void {
  const most = needsRoom ? contextLength - 1 : contextLength;
  if (promptTokens <= most) return;
  throw new RequestError(
    400,
    `The request has ${promptTokens} tokens and the context holds ${contextLength}; shorten it or load the model with a larger context`,
    {
      type: "exceed_context_size_error",
      code: "context_length_exceeded",
      extra: { n_prompt_tokens: promptTokens, n_ctx: contextLength },
    },
  );
}
