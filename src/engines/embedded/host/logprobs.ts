import type { JsonObject } from "../../../domain/mod.ts";
import type { ChosenToken, TokenChance } from "./token_chances.ts";

/**
 * Write tokens the way a chat's choice has them.
 *
 * @param tokens The tokens; undefined where they were not asked for.
 * @returns OpenAI's `logprobs`.
 */
export function chatLogprobs(
  tokens: readonly ChosenToken[] | undefined,
): JsonObject | null {
  if (tokens === undefined) return null;
  return {
    content: tokens.map((token) => ({
      ...described(token),
      top_logprobs: token.top.map(described),
    })),
    refusal: null,
  };
}

/** A part of a character has bytes that its text does not tell. */
function described({ text, logprob }: TokenChance): JsonObject {
  return {
    token: text,
    logprob,
    bytes: text.includes("\uFFFD")
      ? null
      : Array.from(new TextEncoder().encode(text)),
  };
}

/**
 * Write tokens the way a completion's choice has them.
 *
 * @param tokens The tokens; undefined where they were not asked for.
 * @param from Characters of the answer before them.
 * @returns OpenAI's older form of `logprobs`.
 */
export function completionLogprobs(
  tokens: readonly ChosenToken[] | undefined,
  from: number,
): JsonObject | null {
  if (tokens === undefined) return null;
  let at = from;
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top }) =>
      Object.fromEntries(top.map(({ text, logprob }) => [text, logprob]))
    ),
    text_offset: tokens.map(({ text }) => {
      const offset = at;
      at += text.length;
      return offset;
    }),
  };
}
