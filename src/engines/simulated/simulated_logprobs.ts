import type { JsonObject } from "../../domain/mod.ts";

/** A token, with the log of its chance. */
interface Chance {
  readonly token: string;
  readonly logprob: number;
}

/**
 * Chances of one token: the written one has a half, each further one half of
 * the one before, so that the same request always has the same ones.
 *
 * @param word The written token.
 * @param count How many likeliest tokens are named.
 */
function chancesOf(word: string, count: number): readonly Chance[] {
  return Array.from({ length: Math.max(1, count) }, (_, at) => ({
    token: at === 0 ? word : `${word.trimEnd()}-${at} `,
    logprob: (at + 1) * Math.log(0.5),
  }));
}

/**
 * Log probabilities of a chat's tokens.
 *
 * @param words The tokens as written.
 * @param top How many likeliest tokens are named for each.
 */
export function chatLogprobs(
  words: readonly string[],
  top: number,
): JsonObject {
  return {
    content: words.map((word) => {
      const chances = chancesOf(word, top).map(described);
      return { ...chances[0], top_logprobs: chances.slice(0, top) };
    }),
    refusal: null,
  };
}

/**
 * Log probabilities of a completion's tokens.
 *
 * @param words The tokens as written.
 * @param top How many likeliest tokens are named for each.
 * @param from Characters of the answer before them.
 */
export function completionLogprobs(
  words: readonly string[],
  top: number,
  from: number,
): JsonObject {
  const chances = words.map((word) => chancesOf(word, top));
  let at = from;
  return {
    tokens: [...words],
    token_logprobs: chances.map(([own]) => own?.logprob ?? null),
    top_logprobs: chances.map((all) =>
      Object.fromEntries(
        all.slice(0, top).map(({ token, logprob }) => [token, logprob]),
      )
    ),
    text_offset: words.map((word) => {
      const offset = at;
      at += word.length;
      return offset;
    }),
  };
}

function described({ token, logprob }: Chance): JsonObject {
  return {
    token,
    logprob,
    bytes: Array.from(new TextEncoder().encode(token)),
  };
}
