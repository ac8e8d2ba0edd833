import * as z from "zod";
import type { JsonObject } from "../../domain/mod.ts";
import { describeSchema } from "../openapi_schema.ts";
import { checkFields } from "../openai/request_fault.ts";

const whole = z.int({ error: "must be a whole number" }).nullish();
const number = z.number({ error: "must be a number" }).nullish();

const SCHEMA = z.looseObject({
  options: z.looseObject({
    num_predict: whole,
    temperature: number,
    top_p: number,
    top_k: whole,
    min_p: number,
    presence_penalty: number,
    frequency_penalty: number,
    stop: z.union([z.string(), z.array(z.string())], {
      error: "must be a string or an array of strings",
    }).nullish(),
  }, { error: "must be an object" }).nullish(),
});

/** Options that the internal dialect, or llama.cpp's extension of it, spells alike. */
const SAME = [
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "typical_p",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "repeat_penalty",
  "repeat_last_n",
] as const;

/**
 * Translate Ollama's `options` (REQ-01). What sets up an engine (`num_gpu`,
 * `num_thread` and their like) is the node's own setting and left out, but for
 * `num_ctx`, which `upkeepOf` reads.
 *
 * @param body The request's body.
 * @returns Fields of the internal dialect.
 * @throws {Fault} Naming the first option that is wrong.
 */
export function samplingOf(body: JsonObject): JsonObject {
  const options = checkFields(SCHEMA, body).options ?? {};
  const { num_predict: most, stop } = options;
  const given = body.options as JsonObject | undefined ?? {};
  return {
    ...Object.fromEntries(
      SAME.filter((key) => given[key] !== undefined && given[key] !== null)
        .map((key) => [key, given[key]]),
    ),
    // -1 and -2 mean until the answer ends by itself.
    ...(typeof most === "number" && most > 0 ? { max_tokens: most } : {}),
    ...(stop === undefined || stop === null || stop.length === 0
      ? {}
      : { stop: typeof stop === "string" ? [stop] : stop }),
  };
}

/** The schema of `options`, for the API's description. */
export function describeOptions(): JsonObject {
  return describeSchema(SCHEMA);
}
