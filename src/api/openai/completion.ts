import * as z from "zod";
import type { InferenceRequest, JsonObject } from "../../domain/mod.ts";
import type { Envelope } from "./envelope.ts";
import { describeGeneration, parseGeneration } from "./generation.ts";
import { checkFields } from "./request_fault.ts";
import { estimateTextTokens } from "./token_estimate.ts";
import { describeSchema } from "../openapi_schema.ts";

const PROMPT =
  "must be a string, an array of strings, an array of token ids, or an array of such arrays";
const EMPTY = { error: "must not be empty" };
const token = z.int().min(0, { error: "must be a token id" });

const SCHEMA = z.looseObject({
  prompt: z.union([
    z.string(),
    z.array(z.string()).min(1, EMPTY),
    z.array(token).min(1, EMPTY),
    z.array(z.array(token).min(1, EMPTY)).min(1, EMPTY),
  ], { error: PROMPT }),
  logprobs: z.union([z.int().min(0), z.boolean()], {
    error: "must be a whole number",
  }).nullish(),
});

/**
 * Read the body of `POST /v1/completions`.
 *
 * @param body The body.
 * @param envelope What came beside it.
 * @returns The request.
 * @throws {Fault} `invalid_request` naming the first wrong field.
 */
export function parseCompletion(
  body: JsonObject,
  envelope: Envelope,
): InferenceRequest {
  const generation = parseGeneration(body);
  const { prompt, logprobs } = checkFields(SCHEMA, body);
  const wantsLogprobs = typeof logprobs === "number" || logprobs === true;
  return {
    ...envelope,
    capability: "completion",
    model: generation.model,
    stream: generation.stream,
    includeUsage: generation.includeUsage,
    body: generation.body,
    promptTokens: promptTokens(prompt),
    maxOutputTokens: generation.maxOutputTokens,
    inputCount: 1,
    needs: wantsLogprobs ? ["logprobs", ...generation.needs] : generation.needs,
  };
}

function promptTokens(prompt: z.infer<typeof SCHEMA>["prompt"]): number {
  if (typeof prompt === "string") return estimateTextTokens(prompt);
  let tokens = 0;
  for (const part of prompt) {
    if (typeof part === "string") tokens += estimateTextTokens(part);
    else tokens += typeof part === "number" ? 1 : part.length;
  }
  return tokens;
}

/** The schema of a completion request, for the API's description. */
export function describeCompletion(): JsonObject {
  return describeSchema(SCHEMA, describeGeneration());
}
