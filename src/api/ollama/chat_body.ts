import * as z from "zod";
import {
  Fault,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Upkeep,
} from "../../domain/mod.ts";
import { checkFields, wrongField } from "../openai/request_fault.ts";
import { CallPairing } from "./call_pairing.ts";
import { describeOptions, samplingOf } from "./options.ts";
import { describeUpkeep, upkeepOf } from "./upkeep.ts";
import { describeNamed } from "../openai/generation.ts";
import { describeSchema } from "../openapi_schema.ts";

const images = z.array(z.string(), {
  error: "must be an array of pictures in base64",
}).nullish();
const flag = z.boolean({ error: "must be true or false" }).nullish();

const COMMON = {
  stream: flag,
  think: z.union([z.boolean(), z.string()], {
    error: "must be true, false or a level",
  }).nullish(),
  format: z.union([z.string(), z.looseObject({})], {
    error: 'must be "json" or a JSON schema',
  }).nullish(),
};

const CHAT = z.looseObject({
  ...COMMON,
  messages: z.array(
    z.looseObject({
      role: z.string({ error: "must be a string" }),
      content: z.string({ error: "must be a string" }).nullish(),
      images,
      tool_calls: z.array(z.looseObject({}), {
        error: "must be an array of tool calls",
      }).nullish(),
    }, { error: "must be a message object" }),
    { error: "must be an array of messages" },
  ).nullish(),
  tools: z.array(z.looseObject({}), { error: "must be an array of tools" })
    .nullish(),
});

const text = z.string({ error: "must be a string" }).nullish();

const GENERATE = z.looseObject({
  ...COMMON,
  prompt: text,
  system: text,
  suffix: text,
  template: text,
  images,
  raw: flag,
});

/** A request of Ollama's dialect in the internal one. */
export interface OllamaRequest {
  /** The body, and whose it is: a chat's, or a plain completion's. */
  readonly kind: "chat" | "completion";
  readonly body: JsonObject;
  /** What it wants of the model in memory; that alone where it says nothing. */
  readonly upkeep: Upkeep;
}

/**
 * Translate the body of `POST /api/chat`. Pure.
 *
 * @param body The body.
 * @returns The request.
 * @throws {Fault} Naming the first field that is wrong, or that nobody here can serve.
 */
export function chatRequestOf(body: JsonObject): OllamaRequest {
  const fields = checkFields(CHAT, body);
  const pairing = new CallPairing();
  const messages = objectsOf(body.messages)
    .map((message) => messageOf(message, pairing));
  if (messages.length === 0) return onlyRequest(body);
  return {
    kind: "chat",
    upkeep: upkeepOf(body),
    body: {
      ...commonOf(body),
      messages,
      ...((fields.tools?.length ?? 0) > 0
        ? {
          tools: body.tools,
          // No word of Ollama's, but the only one there is for a call that must be made.
          ...(body.tool_choice === undefined
            ? {}
            : { tool_choice: body.tool_choice }),
        }
        : {}),
    },
  };
}

/**
 * Translate the body of `POST /api/generate`. Pure.
 *
 * @param body The body.
 * @returns The request.
 * @throws {Fault} As `chatRequestOf`.
 */
export function generateRequestOf(body: JsonObject): OllamaRequest {
  const fields = checkFields(GENERATE, body);
  for (const key of ["template", "context"] as const) {
    const given = body[key];
    if (given === undefined || given === null || given === "") continue;
    if (Array.isArray(given) && given.length === 0) continue;
    throw new Fault(
      "not_implemented",
      `Covey does not implement "${key}" of /api/generate`,
      { param: key },
    );
  }
  const prompt = fields.prompt ?? "";
  const suffix = fields.suffix ?? "";
  if (prompt === "" && suffix === "" && (fields.images?.length ?? 0) === 0) {
    return onlyRequest(body);
  }
  if (fields.raw === true || suffix !== "") {
    return {
      kind: "completion",
      upkeep: upkeepOf(body),
      body: {
        ...commonOf(body),
        prompt,
        // What is to come between the two: engines that fill nothing in say so.
        ...(suffix === "" ? {} : { suffix }),
      },
    };
  }
  const user: JsonObject = {
    role: "user",
    content: shown(prompt, fields.images ?? []),
  };
  return {
    kind: "chat",
    upkeep: upkeepOf(body),
    body: {
      ...commonOf(body),
      messages: typeof fields.system === "string" && fields.system !== ""
        ? [{ role: "system", content: fields.system }, user]
        : [user],
    },
  };
}

/**
 * Ollama loads a model for a request that says nothing, or unloads it where it
 * is to be kept for no time. One token loads it in an engine that knows no
 * other way.
 */
function onlyRequest(body: JsonObject): OllamaRequest {
  const upkeep = upkeepOf(body);
  const only = upkeep.keepAliveMs === 0 ? "unload" : "load";
  return {
    kind: "chat",
    upkeep: { ...upkeep, only },
    body: {
      model: body.model,
      stream: only === "load" && (body.stream ?? true),
      messages: [{ role: "user", content: "." }],
      max_tokens: 1,
    },
  };
}

function commonOf(body: JsonObject): JsonObject {
  if (body.logprobs === true) {
    throw new Fault(
      "not_implemented",
      'Covey gives no "logprobs" in Ollama\'s dialect; ask for them by /v1/chat/completions',
      { param: "logprobs" },
    );
  }
  const stream = body.stream ?? true;
  return {
    model: body.model,
    // Ollama streams unless told otherwise (SSE-14).
    stream,
    ...(stream === true ? { stream_options: { include_usage: true } } : {}),
    ...samplingOf(body),
    ...formatOf(body.format),
    ...thinkOf(body.think),
  };
}

function formatOf(format: JsonValue | undefined): JsonObject {
  if (format === undefined || format === null || format === "") return {};
  if (format === "json") return { response_format: { type: "json_object" } };
  if (!isJsonObject(format)) {
    throw wrongField("format", 'must be "json" or a JSON schema');
  }
  return {
    response_format: {
      type: "json_schema",
      json_schema: { name: "answer", schema: format, strict: true },
    },
  };
}

/** Chat templates know the switch under this name; levels are OpenAI's. */
function thinkOf(think: JsonValue | undefined): JsonObject {
  if (typeof think === "boolean") {
    return { chat_template_kwargs: { enable_thinking: think } };
  }
  return typeof think === "string" ? { reasoning_effort: think } : {};
}

function messageOf(message: JsonObject, pairing: CallPairing): JsonObject {
  const content = typeof message.content === "string" ? message.content : "";
  switch (message.role) {
    case "tool":
      return {
        role: "tool",
        tool_call_id: pairing.answered(message),
        content,
      };
    case "assistant": {
      const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
      return {
        role: "assistant",
        content,
        ...(typeof message.thinking === "string" && message.thinking !== ""
          ? { reasoning_content: message.thinking }
          : {}),
        ...(calls.length > 0
          ? { tool_calls: calls.map((call) => pairing.call(call)) }
          : {}),
      };
    }
    default:
      return {
        role: message.role,
        content: shown(
          content,
          Array.isArray(message.images)
            ? message.images.filter((one) => typeof one === "string")
            : [],
        ),
      };
  }
}

function shown(content: string, pictures: readonly string[]): JsonValue {
  if (pictures.length === 0) return content;
  return [
    { type: "text", text: content },
    ...pictures.map((picture) => ({
      type: "image_url",
      image_url: { url: pictureUrl(picture) },
    })),
  ];
}

/** How base64 of a file begins, by the file's first bytes. */
const PICTURES: readonly (readonly [string, string])[] = [
  ["/9j/", "image/jpeg"],
  ["iVBOR", "image/png"],
  ["R0lG", "image/gif"],
  ["UklGR", "image/webp"],
];

function pictureUrl(picture: string): string {
  if (picture.startsWith("data:")) return picture;
  const type = PICTURES.find(([start]) => picture.startsWith(start))?.[1] ??
    "image/png";
  return `data:${type};base64,${picture}`;
}

function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : [];
}

/** The schema of `POST /api/chat`, for the API's description. */
export function describeOllamaChat(): JsonObject {
  return describeSchema(
    CHAT,
    describeNamed(),
    describeOptions(),
    describeUpkeep(),
  );
}

/** The schema of `POST /api/generate`, for the API's description. */
export function describeGenerate(): JsonObject {
  return describeSchema(
    GENERATE,
    describeNamed(),
    describeOptions(),
    describeUpkeep(),
  );
}
