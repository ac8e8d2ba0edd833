import * as z from "zod";
import type { JsonObject, JsonValue, ModelFeature } from "../../domain/mod.ts";
import { describeSchema } from "../openapi_schema.ts";
import { checkFields } from "./request_fault.ts";

/** What chat and completion requests have in common, read and made explicit. */
export interface Generation {
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly maxOutputTokens: number | null;
  /** What it needs of an engine, as far as both kinds of request can ask for it. */
  readonly needs: readonly ModelFeature[];
  /** The body as engines get it: `stream` said; nulls, an empty `stop` and Covey's own fields gone. */
  readonly body: JsonObject;
}

const count = z.int({ error: "must be a whole number of at least 1" })
  .min(1, { error: "must be a whole number of at least 1" });
const bound = z.union([z.literal(-1), count], {
  error: "must be a whole number of at least 1 (or -1 for no bound)",
}).nullish();
const number = z.number({ error: "must be a number" }).nullish();
const integer = z.int({ error: "must be a whole number" }).nullish();
const flag = z.boolean({ error: "must be true or false" }).nullish();
/** OpenAI's seeds have 64 bits: those that no double holds come as their own text. */
const seed = z.custom<JsonValue>(isSeed, {
  error: "must be a whole number of 64 bits",
}).meta({ type: "integer", format: "int64" }).nullish();

const SCHEMA = z.looseObject({
  model: modelName(),
  stream: flag,
  stream_options: z.looseObject(
    { include_usage: flag },
    { error: "must be an object" },
  ).nullish(),
  max_tokens: bound,
  max_completion_tokens: bound,
  stop: z.union([z.string(), z.array(z.string())], {
    error: "must be a string or an array of strings",
  }).nullish(),
  temperature: number,
  top_p: number,
  top_k: integer,
  min_p: number,
  frequency_penalty: number,
  presence_penalty: number,
  seed,
  n: count.nullish(),
  // A list of pairs is llama.cpp's form, which takes texts for tokens too.
  logit_bias: z.union([z.looseObject({}), z.array(z.array(z.unknown()))], {
    error: "must be an object of token ids and numbers",
  }).nullish(),
});

const INT64 = /^-?\d{1,19}$/;

function isSeed(value: unknown): boolean {
  const text = JSON.stringify(value);
  return typeof value !== "string" && INT64.test(text) &&
    BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}

function modelName(): z.ZodString {
  return z.string({
    error: "must be a string, the name of a model (GET /v1/models lists them)",
  }).min(1, { error: "must not be empty" })
    .max(512, { error: "must have at most 512 characters" });
}

const NAMED = z.looseObject({ model: modelName() });

/**
 * Read the name of the model.
 *
 * @param body The body of an inference request.
 * @returns The name as given.
 * @throws {Fault} When it is absent or no name.
 */
export function parseModelName(body: JsonObject): string {
  return checkFields(NAMED, body).model;
}

const OWN_FIELDS: readonly string[] = ["source", "covey_resume"];

/**
 * Read what chat and completion requests have in common (REQ-01, SSE-14).
 *
 * @param body The body as sent.
 * @returns The common part.
 * @throws {Fault} `invalid_request` naming the first wrong field.
 */
export function parseGeneration(body: JsonObject): Generation {
  const fields = checkFields(SCHEMA, body);
  const stream = fields.stream ?? false;
  const most = fields.max_completion_tokens ?? fields.max_tokens ?? -1;
  const dropped = new Set(OWN_FIELDS);
  if (Array.isArray(fields.stop) && fields.stop.length === 0) {
    dropped.add("stop");
  }
  for (const key of ["max_tokens", "max_completion_tokens"]) {
    if (body[key] === -1) dropped.add(key);
  }
  if (!stream) dropped.add("stream_options");
  return {
    model: fields.model,
    stream,
    includeUsage: stream && (fields.stream_options?.include_usage ?? false),
    maxOutputTokens: most === -1 ? null : most,
    needs: (fields.n ?? 1) > 1 ? ["n"] : [],
    body: { ...engineBody(body, dropped), stream },
  };
}

/**
 * Copy a body for the engine. Official clients write null for an option that
 * was not set, and not every engine takes it for that.
 *
 * @param body The body as sent.
 * @param dropped Keys to leave out, beside those that are null.
 * @returns The copy; the body itself where nothing is left out.
 */
export function engineBody(
  body: JsonObject,
  dropped: ReadonlySet<string>,
): JsonObject {
  const isPassed = ([key, value]: [string, JsonValue | undefined]) =>
    value !== null && !dropped.has(key);
  const entries = Object.entries(body);
  return entries.every(isPassed)
    ? body
    : Object.fromEntries(entries.filter(isPassed));
}

/** The schema of what chats and completions have in common, for the API's description. */
export function describeGeneration(): JsonObject {
  return describeSchema(SCHEMA);
}

/** The schema of a body that names a model, for the API's description. */
export function describeNamed(): JsonObject {
  return describeSchema(NAMED);
}
