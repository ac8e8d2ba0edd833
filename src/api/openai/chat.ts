import * as z from "zod";
import {
  type InferenceRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ModelFeature,
} from "../../domain/mod.ts";
import type { Envelope } from "./envelope.ts";
import { describeGeneration, parseGeneration } from "./generation.ts";
import { checkFields, holdsJson, wrongField } from "./request_fault.ts";
import { estimateChatTokens, isImagePart } from "./token_estimate.ts";
import { describeSchema } from "../openapi_schema.ts";

const flag = z.boolean({ error: "must be true or false" }).nullish();
const typed = (what: string) =>
  z.looseObject({ type: z.string({ error: "must be a string" }) }, {
    error: `must be ${what}`,
  });

const MESSAGES = "must be a non-empty array of messages";

const SCHEMA = z.looseObject({
  messages: z.array(
    z.looseObject({
      role: z.string({ error: 'must be a string, such as "user"' })
        .min(1, { error: "must not be empty" }),
      content: z.union([z.string(), z.array(typed("a content part"))], {
        error:
          "must be a string or an array of content parts, each with a type",
      }).nullish(),
      tool_calls: z.array(z.looseObject({}), {
        error: "must be an array of tool calls",
      }).nullish(),
    }, { error: "must be a message object" }),
    { error: MESSAGES },
  ).min(1, { error: MESSAGES }),
  tools: z.array(typed("a tool object"), {
    error: "must be an array of tools",
  }).nullish(),
  response_format: typed("an object with a type").nullish(),
  logprobs: flag,
  top_logprobs: z.int({ error: "must be a whole number" }).nullish(),
});

/**
 * Read the body of `POST /v1/chat/completions`. Fields that Covey does not
 * know pass on.
 *
 * @param body The body.
 * @param envelope What came beside it.
 * @returns The request.
 * @throws {Fault} `invalid_request` naming the first wrong field.
 */
export function parseChat(
  body: JsonObject,
  envelope: Envelope,
): InferenceRequest {
  const generation = parseGeneration(body);
  const fields = checkFields(SCHEMA, body);
  const messages = messagesOf(body).map(normalMessage);
  return {
    ...envelope,
    capability: "chat",
    model: generation.model,
    stream: generation.stream,
    includeUsage: generation.includeUsage,
    body: { ...generation.body, messages },
    promptTokens: estimateChatTokens(messages, body.tools),
    maxOutputTokens: generation.maxOutputTokens,
    inputCount: 1,
    needs: [...needsOf(fields, messages), ...generation.needs],
  };
}

function messagesOf(body: JsonObject): readonly JsonObject[] {
  return Array.isArray(body.messages)
    ? body.messages.filter((message) => isJsonObject(message))
    : [];
}

function* needsOf(
  fields: z.infer<typeof SCHEMA>,
  messages: readonly JsonObject[],
): Generator<ModelFeature> {
  if ((fields.tools?.length ?? 0) > 0) yield "tools";
  if (
    messages.some(({ content }) =>
      Array.isArray(content) && content.some(isImagePart)
    )
  ) yield "vision";
  const format = fields.response_format?.type;
  if (format === "json_schema" || format === "json_object") {
    yield "json_schema";
  }
  if (fields.logprobs === true || (fields.top_logprobs ?? 0) > 0) {
    yield "logprobs";
  }
}

/** Replayed turns come in spellings that one engine or another refuses; engines get one. */
function normalMessage(message: JsonObject, index: number): JsonObject {
  const at = `messages[${index}]`;
  const calls = message.tool_calls;
  if (!Array.isArray(calls) || calls.length === 0) {
    if (!hasContent(message)) {
      throw wrongField(
        at,
        message.role === "assistant"
          ? "must have content or tool_calls"
          : "must have content",
      );
    }
    return message;
  }
  // Engines differ in which of null, "" and nothing at all they take (TRN-03).
  const { content } = message;
  const isEmpty = content === undefined || content === "" ||
    (Array.isArray(content) && content.length === 0);
  return {
    ...message,
    ...(isEmpty ? { content: null } : {}),
    tool_calls: calls.map((call, n) =>
      normalCall(call, `${at}.tool_calls[${n}].function.arguments`)
    ),
  };
}

function hasContent(message: JsonObject): boolean {
  if (message.content !== null && message.content !== undefined) return true;
  return message.role === "assistant" &&
    ["function_call", "refusal", "audio", "reasoning_content"].some((key) =>
      message[key] !== null && message[key] !== undefined
    );
}

/** OpenAI's dialect writes arguments as a string that holds JSON (TRN-04). */
function normalCall(call: JsonValue, at: string): JsonValue {
  if (!isJsonObject(call) || !isJsonObject(call.function)) return call;
  const given = call.function.arguments;
  if (isJsonObject(given)) {
    return {
      ...call,
      function: { ...call.function, arguments: JSON.stringify(given) },
    };
  }
  if (typeof given === "string" && !holdsJson(given)) {
    throw wrongField(at, "must be a string that holds one JSON object");
  }
  return call;
}

/** The schema of a chat request, for the API's description. */
export function describeChat(): JsonObject {
  return describeSchema(SCHEMA, describeGeneration());
}
