import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Upkeep,
} from "../../domain/mod.ts";
import { FOREIGN_FIELDS } from "./refused_fields.ts";

/** A call of Ollama's own API. */
export interface OllamaCall {
  readonly path: string;
  readonly body: JsonObject;
}

/** Options that both dialects spell alike. */
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
  "stop",
] as const;

/** What its own API can not be asked for, or not in this form. */
const OWN_ALONE: readonly string[] = [
  "logprobs",
  "top_logprobs",
  "tool_choice",
];
const DATA_URL = /^data:image\/[a-z.+-]{1,32};base64,/;

/**
 * Tell whether a body says what only Ollama's own API takes note of.
 *
 * @param body A body for its OpenAI routes.
 */
export function isPassedOver(body: JsonObject): boolean {
  return FOREIGN_FIELDS.some((key) => isSaid(body[key]));
}

/**
 * Write a request in Ollama's own dialect: its OpenAI routes know neither
 * `keep_alive` nor `num_ctx`, and a request without the latter would load the
 * model anew. Pure.
 *
 * @param path The OpenAI route.
 * @param body The body for that.
 * @param upkeep What the caller wants of the model in memory.
 * @returns The call, or null where it can only be asked in OpenAI's words.
 */
export function ollamaCall(
  path: string,
  body: JsonObject,
  upkeep: Upkeep,
): OllamaCall | null {
  const options = optionsOf(body, upkeep);
  const common = {
    model: body["model"],
    ...(upkeep.keepAliveMs === undefined
      ? {}
      : { keep_alive: keepAliveOf(upkeep.keepAliveMs) }),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  };
  if (upkeep.only === "unload") {
    return {
      path: "/api/generate",
      body: { model: body["model"], keep_alive: 0, stream: false },
    };
  }
  if (upkeep.only === "load") {
    // What a stand-in's one token was asked with means nothing for a load.
    const { num_ctx } = options;
    return {
      path: "/api/generate",
      body: {
        model: common.model,
        ...(upkeep.keepAliveMs === undefined
          ? {}
          : { keep_alive: keepAliveOf(upkeep.keepAliveMs) }),
        ...(num_ctx === undefined ? {} : { options: { num_ctx } }),
        stream: false,
      },
    };
  }
  const stream = body["stream"] === true;
  switch (path) {
    case "/v1/chat/completions": {
      const messages = messagesOf(body["messages"]);
      if (messages === null || OWN_ALONE.some((key) => isSaid(body[key]))) {
        return null;
      }
      return {
        path: "/api/chat",
        body: {
          ...common,
          stream,
          messages,
          ...(isSaid(body["tools"]) ? { tools: body["tools"] } : {}),
          ...formatOf(body["response_format"]),
          ...thinkOf(body),
        },
      };
    }
    case "/v1/completions":
      return typeof body["prompt"] !== "string" ? null : {
        path: "/api/generate",
        body: {
          ...common,
          stream,
          prompt: body["prompt"],
          // Only a model's own template knows where it wants what follows.
          ...(isSaid(body["suffix"]) && body["suffix"] !== ""
            ? { suffix: body["suffix"] }
            : { raw: true }),
        },
      };
    case "/v1/embeddings":
      return body["encoding_format"] === "base64" ? null : {
        path: "/api/embed",
        body: {
          ...common,
          input: body["input"],
          ...(isSaid(body["dimensions"])
            ? { dimensions: body["dimensions"] }
            : {}),
        },
      };
    default:
      return null;
  }
}

function isSaid(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== false;
}

/** Go's durations end at 292 years: negative stands for ever. */
function keepAliveOf(keepAliveMs: number | null): JsonValue {
  return keepAliveMs === null ? -1 : `${keepAliveMs}ms`;
}

function optionsOf(body: JsonObject, { contextLength }: Upkeep): JsonObject {
  const most = body["max_completion_tokens"] ?? body["max_tokens"];
  return {
    ...Object.fromEntries(
      SAME.filter((key) => isSaid(body[key])).map((key) => [key, body[key]]),
    ),
    ...(typeof most === "number" ? { num_predict: most } : {}),
    ...(contextLength === undefined ? {} : { num_ctx: contextLength }),
  };
}

function formatOf(format: JsonValue | undefined): JsonObject {
  if (!isJsonObject(format)) return {};
  if (format["type"] === "json_object") return { format: "json" };
  const schema = format["json_schema"];
  return isJsonObject(schema) && isSaid(schema["schema"])
    ? { format: schema["schema"] }
    : {};
}

function thinkOf(body: JsonObject): JsonObject {
  const kwargs = body["chat_template_kwargs"];
  if (isJsonObject(kwargs) && typeof kwargs["enable_thinking"] === "boolean") {
    return { think: kwargs["enable_thinking"] };
  }
  return typeof body["reasoning_effort"] === "string"
    ? { think: body["reasoning_effort"] }
    : {};
}

/** Null where a message has something that its own dialect can not say. */
function messagesOf(messages: JsonValue | undefined): JsonValue[] | null {
  if (!Array.isArray(messages)) return null;
  const written: JsonValue[] = [];
  for (const message of messages) {
    const one = isJsonObject(message) ? messageOf(message) : null;
    if (one === null) return null;
    written.push(one);
  }
  return written;
}

function messageOf(message: JsonObject): JsonObject | null {
  const said = contentOf(message["content"]);
  const calls = callsOf(message["tool_calls"]);
  if (said === null || calls === null) return null;
  const { reasoning_content: thinking, role, name } = message;
  return {
    role: role === "developer" ? "system" : role,
    content: said.text,
    ...(said.images.length > 0 ? { images: said.images } : {}),
    ...(typeof thinking === "string" ? { thinking } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(role === "tool" && typeof name === "string" ? { tool_name: name } : {}),
    ...(typeof message["tool_call_id"] === "string"
      ? { tool_call_id: message["tool_call_id"] }
      : {}),
  };
}

function contentOf(
  content: JsonValue | undefined,
): { readonly text: string; readonly images: string[] } | null {
  if (content === undefined || content === null) {
    return { text: "", images: [] };
  }
  if (typeof content === "string") return { text: content, images: [] };
  if (!Array.isArray(content)) return null;
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of content) {
    if (!isJsonObject(part)) return null;
    if (part["type"] === "text" && typeof part["text"] === "string") {
      texts.push(part["text"]);
      continue;
    }
    const picture = part["image_url"];
    const url = isJsonObject(picture) ? picture["url"] : picture;
    if (typeof url !== "string" || !DATA_URL.test(url)) return null;
    images.push(url.replace(DATA_URL, ""));
  }
  return { text: texts.join("\n"), images };
}

/** Its own dialect has arguments as objects. */
function callsOf(calls: JsonValue | undefined): JsonObject[] | null {
  if (!Array.isArray(calls)) return [];
  const written: JsonObject[] = [];
  for (const call of calls) {
    const made = isJsonObject(call) ? call["function"] : undefined;
    if (!isJsonObject(made)) return null;
    const { arguments: args, name } = made;
    let parsed: JsonValue;
    try {
      parsed = JSON.parse(
        typeof args === "string" && args !== "" ? args : "{}",
      );
    } catch {
      // Whoever wrote them is told so by the server, in its other dialect.
      return null;
    }
    written.push({ function: { name, arguments: parsed } });
  }
  return written;
}
