import type { JsonObject } from "../../domain/mod.ts";

/** What a request wants of an answer beside its text. */
export interface AnswerWishes {
  /** Answers at once. */
  readonly choices: number;
  /** How many likeliest tokens to name for each one, or null for no log probabilities. */
  readonly topLogprobs: number | null;
}

/** A wish that no engine would grant. */
export interface WrongWish {
  readonly param: string;
  readonly message: string;
}

/** As much as the embedded engine gives. */
const MOST_CHOICES = 16;
const MOST_LOGPROBS = 20;

/**
 * Read what a chat or completion wants, with the bounds of the embedded engine.
 *
 * @param body The request; its fields are of the kinds that the API lets pass.
 */
export function parseWishes(body: JsonObject): AnswerWishes | WrongWish {
  const choices = typeof body.n === "number" ? body.n : 1;
  if (choices > MOST_CHOICES) {
    return {
      param: "n",
      message:
        `The field "n" is ${choices}, at most ${MOST_CHOICES} answers are given to one request`,
    };
  }
  const topLogprobs = logprobsOf(body);
  if (topLogprobs === null || topLogprobs <= MOST_LOGPROBS) {
    return { choices, topLogprobs };
  }
  const param = typeof body.logprobs === "number" ? "logprobs" : "top_logprobs";
  return {
    param,
    message:
      `The field "${param}" is ${topLogprobs}, at most ${MOST_LOGPROBS} tokens are named`,
  };
}

/** A switch beside a number with chats, the number itself with completions. */
function logprobsOf({ logprobs, top_logprobs: top }: JsonObject) {
  if (typeof logprobs === "number") return logprobs;
  return logprobs === true ? typeof top === "number" ? top : 0 : null;
}
