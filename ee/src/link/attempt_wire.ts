import {
  type Attempt,
  CAPABILITIES,
  formatSource,
  isJsonObject,
  type JsonObject,
  MODEL_FEATURES,
  parseAttemptId,
  parseNodeId,
  parseSource,
} from "@covey/core/domain";
import { z } from "zod";
import { encodeJson, parseExactBounded } from "./bounded_json.ts";
import { WireError } from "./wire_error.ts";

/** Deepest nesting of a request body: tools carry schemas of some depth. */
const MAX_DEPTH = 128;

const MAX_RESUME_CHARACTERS = 4 * 1024 * 1024;

const count = z.number().int().nonnegative();
const name = z.string().min(1).max(512);

const requestSchema = z.object({
  capability: z.enum(CAPABILITIES),
  model: name,
  source: z.string().max(256).transform((text, context) => {
    const source = text === "unsaid"
      ? { kind: "unsaid" as const }
      : parseSource(text);
    return source ?? wrong(context, "source");
  }),
  stream: z.boolean(),
  includeUsage: z.boolean(),
  body: z.custom<JsonObject>((value) => isJsonObject(value as JsonObject)),
  promptTokens: z.number().nonnegative(),
  maxOutputTokens: z.number().nonnegative().nullable(),
  inputCount: count,
  needs: z.array(z.enum(MODEL_FEATURES)).max(16),
  conversation: z.string().max(512).nullable(),
  client: z.string().max(512),
  // Older members send none.
  upkeep: z.object({
    keepAliveMs: z.number().nonnegative().nullable().exactOptional(),
    contextLength: z.number().int().positive().exactOptional(),
    only: z.enum(["load", "unload"]).exactOptional(),
    evenPinned: z.boolean().exactOptional(),
  }).exactOptional(),
});

const attemptSchema = z.object({
  id: z.string().transform((text, context) =>
    parseAttemptId(text) ?? wrong(context, "id")
  ),
  entry: z.string().transform((text, context) =>
    parseNodeId(text) ?? wrong(context, "entry")
  ),
  dispatch: z.number().int().positive(),
  request: requestSchema,
  model: name,
  expectedOutputTokens: z.number().nonnegative(),
  predictedMs: z.number().nonnegative(),
  // Older members send none of these.
  cachedTokens: z.number().nonnegative().exactOptional(),
  resume: z.object({
    text: z.string().max(MAX_RESUME_CHARACTERS),
    tokens: count,
  }).exactOptional(),
});

/**
 * Write an attempt the way `parseAttempt` reads it.
 *
 * @returns One JSON object as UTF-8.
 */
export function encodeAttempt(attempt: Attempt): Uint8Array<ArrayBuffer> {
  const { request } = attempt;
  return new TextEncoder().encode(encodeJson({
    ...attempt,
    request: { ...request, source: formatSource(request.source) },
  }));
}

/**
 * Read an attempt that a peer sent. Fields this version does not know are
 * left out.
 *
 * @param bytes The whole body, already bounded.
 * @returns The attempt.
 * @throws {WireError} When it is none.
 */
export function parseAttempt(bytes: Uint8Array): Attempt {
  const parsed = attemptSchema.safeParse(parseExactBounded(bytes, MAX_DEPTH));
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join(".") ?? "";
    throw new WireError(`Cannot read an attempt: "${path}" is wrong`);
  }
  return parsed.data;
}

function wrong(context: z.RefinementCtx, field: string): never {
  context.addIssue({ code: "custom", message: `${field} has a wrong form` });
  return z.NEVER;
}
