import * as z from "zod";
import type { InferenceRequest, JsonObject } from "../../domain/mod.ts";
import type { Envelope } from "./envelope.ts";
import { describeNamed, engineBody, parseModelName } from "./generation.ts";
import { checkFields, wrongField } from "./request_fault.ts";
import { estimateTextTokens } from "./token_estimate.ts";
import { describeSchema } from "../openapi_schema.ts";

const MOST_INPUTS = 2048;
const INPUT =
  "must be a string, an array of strings, an array of token ids, or an array of such arrays";
const WIDTH = "must be a whole number of at least 1";
const token = z.int().min(0, { error: "must be a token id" });

const SCHEMA = z.looseObject({
  input: z.union([
    z.string(),
    z.array(z.string()),
    z.array(token),
    z.array(z.array(token)),
  ], { error: INPUT }),
  encoding_format: z.enum(["float", "base64"], {
    error: 'must be "float" or "base64"',
  }).nullish(),
  dimensions: z.int({ error: WIDTH }).min(1, { error: WIDTH }).nullish(),
});

type Input = z.infer<typeof SCHEMA>["input"];

/**
 * Read the body of `POST /v1/embeddings` (EMB-01, EMB-03). The engine is asked
 * for the format the caller asked for; the answer is checked all the same.
 *
 * @param body The body.
 * @param envelope What came beside it.
 * @returns The request.
 * @throws {Fault} `invalid_request` naming the first wrong field.
 */
export function parseEmbedding(
  body: JsonObject,
  envelope: Envelope,
): InferenceRequest {
  const model = parseModelName(body);
  const fields = checkFields(SCHEMA, body);
  const inputs = inputsOf(fields.input);
  return {
    ...envelope,
    capability: "embedding",
    model,
    stream: false,
    includeUsage: false,
    body: {
      ...engineBody(body, new Set(["source", "stream"])),
      encoding_format: fields.encoding_format ?? "float",
    },
    promptTokens: inputs.reduce((sum, tokens) => sum + tokens, 0),
    maxOutputTokens: null,
    inputCount: inputs.length,
    needs: [],
  };
}

/** Tokens of each input, all of them checked. */
function inputsOf(input: Input): readonly number[] {
  if (typeof input === "string") return [textTokens(input, "input")];
  if (input.length === 0) throw wrongField("input", "must not be empty");
  if (isTokens(input)) return [input.length];
  if (input.length > MOST_INPUTS) {
    throw wrongField(
      "input",
      `must hold at most ${MOST_INPUTS} inputs, not ${input.length}`,
    );
  }
  return input.map((one, index) => {
    const at = `input[${index}]`;
    if (typeof one === "string") return textTokens(one, at);
    if (one.length === 0) throw wrongField(at, "must not be empty");
    return one.length;
  });
}

function isTokens(input: Exclude<Input, string>): input is number[] {
  return typeof input[0] === "number";
}

function textTokens(text: string, at: string): number {
  if (text === "") throw wrongField(at, "must not be an empty string");
  return estimateTextTokens(text);
}

/** The schema of an embedding request, for the API's description. */
export function describeEmbedding(): JsonObject {
  return describeSchema(SCHEMA, describeNamed());
}
