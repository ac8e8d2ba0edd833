import { z } from "zod";
import type { JsonObject } from "../../../domain/mod.ts";
import type { Entropy } from "../../../platform/mod.ts";
import { checkFields } from "./field_check.ts";
import { invalidField } from "./request_error.ts";

/** A change to the likelihood of a token. */
export interface LogitBias {
  /** A token's id, or text whose tokens are all meant. */
  readonly token: number | string;
  /** Added to the logit; `-Infinity` bans the token. */
  readonly bias: number;
}

/** How the next token is chosen, and when to stop. */
export interface Sampling {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly seed: number;
  readonly repeatPenalty: number;
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
  /** How many of the last tokens the penalties look at. */
  readonly repeatLastTokens: number;
  readonly logitBias: readonly LogitBias[];
  readonly ignoreEos: boolean;
  /** Output tokens, or null for as many as the context holds. */
  readonly maxTokens: number | null;
  readonly stop: readonly string[];
  /** How many likeliest tokens to name for each one, or null for no log probabilities. */
  readonly topLogprobs: number | null;
}

/** OpenAI's smallest bias means a ban. */
const BAN_AT = -100;
const MAX_STOPS = 32;
const MAX_BIASES = 4096;
/** Seeds there are: llama.cpp reads 2^32 − 1 as "draw one". */
export const SEEDS = 2 ** 32 - 1;
/** llama-server's default. */
const REPEAT_LAST_TOKENS = 64;

const stopText = z.string().min(1, "a stop string must not be empty");
const biasValue = z.union([z.number(), z.literal(false)]);
const fields = z.object({
  temperature: z.number().min(0).max(100).nullish(),
  top_k: z.int().nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  // 64 bits, of which a double holds the upper 53.
  seed: z.number().refine(Number.isInteger).nullish(),
  repeat_penalty: z.number().min(0).max(10).nullish(),
  repeat_last_n: z.int().min(-1).max(4096).nullish(),
  presence_penalty: z.number().min(-10).max(10).nullish(),
  frequency_penalty: z.number().min(-10).max(10).nullish(),
  logit_bias: z.union([
    z.record(z.string(), z.number()),
    z.array(z.tuple([z.union([z.int(), z.string()]), biasValue]))
      .max(MAX_BIASES),
  ]).nullish(),
  ignore_eos: z.boolean().nullish(),
  max_tokens: z.int().min(-1).nullish(),
  max_completion_tokens: z.int().min(-1).nullish(),
  n_predict: z.int().min(-1).nullish(),
  stop: z.union([
    z.string(),
    z.array(stopText).max(MAX_STOPS),
  ]).nullish(),
});

const MOST_LOGPROBS = 20;
/** A switch beside a number with chats, the number itself with completions. */
const logprobFields = z.object({
  logprobs: z.union([z.boolean(), z.int().min(0).max(MOST_LOGPROBS)]).nullish(),
  top_logprobs: z.int().min(0).max(MOST_LOGPROBS).nullish(),
});

/**
 * Read the sampling fields of a body. Absent ones have llama-server's defaults.
 *
 * @param body The request.
 * @param entropy Draws the seed where none was given.
 * @returns How to sample.
 * @throws {RequestError} Naming the field that is wrong or not supported.
 */
export function parseSampling(body: JsonObject, entropy: Entropy): Sampling {
  const read = checkFields(fields, body);
  const bound = read.max_completion_tokens ?? read.max_tokens ??
    read.n_predict ?? -1;
  if (bound === 0) {
    throw invalidField("max_tokens", 'The field "max_tokens" must be above 0');
  }
  const seed = read.seed ?? -1;
  const topLogprobs = readLogprobs(body);
  // Who wants to see the model's own chances does not want them cut first.
  const otherwise = topLogprobs === null ? CUT : UNCUT;
  const lastTokens = read.repeat_last_n ?? REPEAT_LAST_TOKENS;
  return {
    temperature: read.temperature ?? otherwise.temperature,
    topK: read.top_k ?? otherwise.topK,
    topP: read.top_p ?? otherwise.topP,
    minP: read.min_p ?? otherwise.minP,
    seed: seed < 0 ? Math.floor(entropy.float() * SEEDS) : seed % SEEDS,
    repeatPenalty: read.repeat_penalty ?? 1,
    presencePenalty: read.presence_penalty ?? 0,
    frequencyPenalty: read.frequency_penalty ?? 0,
    repeatLastTokens: lastTokens < 0 ? 4096 : lastTokens,
    logitBias: readBias(read.logit_bias ?? []),
    ignoreEos: read.ignore_eos ?? false,
    maxTokens: bound < 0 ? null : bound,
    stop: typeof read.stop === "string"
      ? [read.stop].filter((text) => text !== "")
      : read.stop ?? [],
    topLogprobs,
  };
}

/** llama-server's defaults. */
const CUT = { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05 } as const;
/** OpenAI's. */
const UNCUT = { temperature: 1, topK: 0, topP: 1, minP: 0 } as const;

function readLogprobs(body: JsonObject): number | null {
  const { logprobs, top_logprobs: top } = checkFields(logprobFields, body);
  if (typeof logprobs === "number") return logprobs;
  if (logprobs === true) return top ?? 0;
  if ((top ?? 0) === 0) return null;
  throw invalidField(
    "top_logprobs",
    'The field "top_logprobs" needs "logprobs": true',
  );
}

type BiasField =
  | Readonly<Record<string, number>>
  | readonly (readonly [number | string, number | false])[];

function isBiasList(
  field: BiasField,
): field is readonly (readonly [number | string, number | false])[] {
  return Array.isArray(field);
}

function readBias(field: BiasField): readonly LogitBias[] {
  if (isBiasList(field)) {
    return field.map(([token, bias]) => ({ token, bias: biasOf(bias) }));
  }
  return Object.entries(field).map(([key, bias]) => {
    if (!/^\d{1,9}$/.test(key)) {
      throw invalidField(
        "logit_bias",
        `The field "logit_bias" has the key "${key}", which is no token id`,
      );
    }
    return { token: Number(key), bias: biasOf(bias) };
  });
}

function biasOf(bias: number | false): number {
  return bias === false || bias <= BAN_AT ? -Infinity : bias;
}
