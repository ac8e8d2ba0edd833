import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../../domain/mod.ts";
import type { ChatMessage, Tool } from "./chat_message.ts";
import type { AnswerFormat } from "./constraint.ts";
import { checkFields } from "./field_check.ts";
import { invalidField } from "./request_error.ts";

/** Which tools the model may call. */
export interface ToolWish {
  readonly tools: readonly Tool[];
  readonly mustCall: boolean;
  readonly parallel: boolean;
}

/** How the answer is sent. */
export interface Delivery {
  readonly stream: boolean;
  /** Whether a stream ends with a chunk that holds the usage. */
  readonly includeUsage: boolean;
  /** The model as the caller named it, or null. */
  readonly model: string | null;
}

/** A chat request after it was parsed; its sampling is read apart. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: ToolWish | null;
  readonly format: AnswerFormat;
  readonly templateVariables: JsonObject;
}

const MAX_MESSAGES = 10_000;
const MAX_TOOLS = 512;

const part = z.object({ type: z.string(), text: z.string().optional() });
const content = z.union([z.string(), z.array(part)]).nullish();
const calledFunction = z.object({
  name: z.string(),
  arguments: z.unknown().optional(),
});
const message = z.object({
  role: z.enum([
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
    "function",
  ]),
  content,
  name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
  tool_calls: z.array(z.object({
    id: z.string().nullish(),
    function: calledFunction,
  })).nullish(),
});
const toolName = z.string().regex(
  /^[A-Za-z0-9_.:-]{1,128}$/,
  "a tool's name has 1 to 128 letters, digits, or _ . : -",
);
const tool = z.object({
  type: z.literal("function"),
  function: z.object({ name: toolName }),
});
const namedChoice = z.object({ function: z.object({ name: z.string() }) });
const chat = z.object({
  messages: z.array(message).min(1).max(MAX_MESSAGES),
  tools: z.array(tool).max(MAX_TOOLS).nullish(),
  tool_choice: z.union([
    z.enum(["auto", "none", "required"]),
    namedChoice,
  ]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
});
const delivery = z.object({
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  model: z.string().nullish(),
});
const responseFormat = z.object({
  type: z.enum(["text", "json_object", "json_schema"]),
}).nullish();

/**
 * Read how an answer is to be sent.
 *
 * @param body The request.
 * @throws {RequestError} Naming the field that is wrong.
 */
export function parseDelivery(body: JsonObject): Delivery {
  const read = checkFields(delivery, body);
  return {
    stream: read.stream ?? false,
    includeUsage: read.stream_options?.include_usage ?? false,
    model: read.model ?? null,
  };
}

/**
 * Read a chat request's conversation, tools and format.
 *
 * @param body The request.
 * @throws {RequestError} Naming the field that is wrong.
 */
export function parseChatRequest(body: JsonObject): ChatRequest {
  const read = checkFields(chat, body);
  const variables = body.chat_template_kwargs;
  if (variables !== undefined && !isJsonObject(variables)) {
    throw invalidField(
      "chat_template_kwargs",
      'The field "chat_template_kwargs" must be an object',
    );
  }
  return {
    messages: read.messages.map(readMessage),
    tools: readTools(body, read),
    format: parseFormat(body),
    templateVariables: variables ?? {},
  };
}

function readMessage(
  read: z.infer<typeof message>,
  at: number,
): ChatMessage {
  // Few templates know "developer", OpenAI's newer name of the system role.
  const role = read.role === "developer"
    ? "system"
    : read.role === "function"
    ? "tool"
    : read.role;
  return {
    role,
    content: readContent(read.content, `messages.${at}.content`),
    toolCalls: (read.tool_calls ?? []).map((call, index) => ({
      id: call.id ?? `call_${at}_${index}`,
      name: call.function.name,
      arguments: typeof call.function.arguments === "string"
        ? call.function.arguments
        : JSON.stringify(call.function.arguments ?? {}),
    })),
    toolCallId: read.tool_call_id ?? null,
    name: read.name ?? null,
  };
}

function readContent(read: z.infer<typeof content>, param: string): string {
  if (read === null || read === undefined) return "";
  if (typeof read === "string") return read;
  return read.map((one, at) => {
    if (one.type === "text" && one.text !== undefined) return one.text;
    throw invalidField(
      `${param}.${at}`,
      `This model reads text only: a part of type "${one.type}" can not be used`,
    );
  }).join("");
}

function readTools(
  body: JsonObject,
  read: z.infer<typeof chat>,
): ToolWish | null {
  const choice = read.tool_choice ?? "auto";
  const sources = Array.isArray(body.tools) ? body.tools : [];
  const tools = (read.tools ?? []).map((one, at): Tool => {
    const source = sources[at];
    const described = isJsonObject(source) ? source : {};
    const inner = isJsonObject(described.function) ? described.function : {};
    const parameters = inner.parameters ?? null;
    if (parameters !== null && !isJsonObject(parameters)) {
      throw invalidField(
        `tools.${at}.function.parameters`,
        `The parameters of "${one.function.name}" must be a JSON Schema object`,
      );
    }
    const { name } = one.function;
    const isStrict = inner.strict === true;
    return { name, parameters, isStrict, source: described };
  });
  if (choice === "none") return null;
  if (tools.length === 0) {
    if (choice === "auto") return null;
    throw invalidField(
      "tool_choice",
      "A tool call is demanded, but the request has no tools",
    );
  }
  const parallel = read.parallel_tool_calls ?? false;
  if (typeof choice === "string") {
    return { tools, mustCall: choice === "required", parallel };
  }
  const named = tools.filter((one) => one.name === choice.function.name);
  if (named.length === 0) {
    throw invalidField(
      "tool_choice.function.name",
      `There is no tool "${choice.function.name}" among the request's tools`,
    );
  }
  return { tools: named, mustCall: true, parallel: false };
}

/**
 * Read the format that an answer must have: OpenAI's `response_format`, or
 * llama-server's `json_schema` and `grammar`.
 *
 * @param body The request.
 * @throws {RequestError} Naming the field that is wrong.
 */
export function parseFormat(body: JsonObject): AnswerFormat {
  const wanted = checkFields(
    responseFormat,
    body.response_format,
    "response_format",
  );
  const described = isJsonObject(body.response_format)
    ? body.response_format
    : {};
  const type = wanted?.type;
  switch (type) {
    case "json_schema": {
      const inner = isJsonObject(described.json_schema)
        ? described.json_schema
        : {};
      return jsonFormat(inner.schema, "response_format.json_schema.schema");
    }
    case "json_object":
      if (described.schema === undefined) {
        return { kind: "json", schema: null, param: "response_format" };
      }
      return jsonFormat(described.schema, "response_format.schema");
    case "text":
    case undefined:
      break;
    default: {
      const never: never = type;
      return never;
    }
  }
  const { json_schema: schema, grammar } = body;
  if (schema !== undefined && schema !== null) {
    return jsonFormat(schema, "json_schema");
  }
  if (grammar === undefined || grammar === null || grammar === "") {
    return { kind: "text" };
  }
  if (typeof grammar !== "string") {
    throw invalidField("grammar", 'The field "grammar" must be GBNF text');
  }
  return { kind: "gbnf", text: grammar };
}

function jsonFormat(
  schema: JsonObject[string],
  param: string,
): AnswerFormat {
  if (!isJsonObject(schema)) {
    throw invalidField(
      param,
      `The field "${param}" must be a JSON Schema object`,
    );
  }
  return { kind: "json", schema, param };
}
