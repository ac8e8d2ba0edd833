import * as z from "zod";
import {
  Fault,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";
import { checkFields, wrongField } from "../openai/request_fault.ts";
import { textOf } from "./content.ts";
import { turnMessages } from "./turns.ts";
import { describeNamed } from "../openai/generation.ts";
import { describeSchema } from "../openapi_schema.ts";

const MESSAGES = "must be a non-empty array of messages";

const SCHEMA = z.looseObject({
  messages: z.array(z.looseObject({}, { error: "must be a message object" }), {
    error: MESSAGES,
  }).min(1, { error: MESSAGES }),
  max_tokens: z.int({ error: "must be a whole number of at least 1" })
    .min(1, { error: "must be a whole number of at least 1" }).nullish(),
  stop_sequences: z.array(z.string(), {
    error: "must be an array of strings",
  }).nullish(),
  tools: z.array(z.looseObject({}, { error: "must be a tool object" }), {
    error: "must be an array of tools",
  }).nullish(),
});

/** Options that both dialects spell alike. */
const SAME = ["model", "stream", "temperature", "top_p", "top_k"] as const;

/**
 * Translate the body of `POST /v1/messages` into the internal dialect. Pure.
 * What only Anthropic's own service can do with a request (caching marks,
 * betas, service tiers, metadata) is left out.
 *
 * @param body The body.
 * @returns A body of OpenAI's chat completions.
 * @throws {Fault} Naming the first field that is wrong, or that nobody here can serve.
 */
export function chatBodyOf(body: JsonObject): JsonObject {
  const fields = checkFields(SCHEMA, body);
  if (Array.isArray(body.mcp_servers) && body.mcp_servers.length > 0) {
    throw new Fault(
      "not_implemented",
      'Covey does not call MCP servers for a request ("mcp_servers")',
      { param: "mcp_servers" },
    );
  }
  const system = textOf(body.system, "system");
  const messages = objectsOf(body.messages)
    .flatMap((message, index) => turnMessages(message, `messages[${index}]`));
  const tools = objectsOf(body.tools).map(toolOf);
  const format = formatOf(body);
  return {
    ...Object.fromEntries(
      SAME.filter((key) => body[key] !== undefined)
        .map((key) => [key, body[key]]),
    ),
    messages: system === ""
      ? messages
      : [{ role: "system", content: system }, ...messages],
    ...(fields.max_tokens === null || fields.max_tokens === undefined
      ? {}
      : { max_tokens: fields.max_tokens }),
    ...((fields.stop_sequences?.length ?? 0) > 0
      ? { stop: fields.stop_sequences }
      : {}),
    ...(tools.length > 0 ? { tools, ...choiceOf(body.tool_choice) } : {}),
    ...(format === null ? {} : { response_format: format }),
    ...thinkingOf(body.thinking),
    ...(body.stream === true
      ? { stream_options: { include_usage: true } }
      : {}),
  };
}

function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : [];
}

function toolOf(tool: JsonObject, index: number): JsonObject {
  const at = `tools[${index}]`;
  const type = tool.type ?? "custom";
  if (type !== "custom" && tool.input_schema === undefined) {
    throw new Fault(
      "not_implemented",
      `Covey has no tool "${
        String(type).slice(0, 100)
      }" of its own ("${at}"); give a tool with an input_schema`,
      { param: `${at}.type` },
    );
  }
  if (typeof tool.name !== "string") {
    throw wrongField(`${at}.name`, "must be a string");
  }
  if (!isJsonObject(tool.input_schema)) {
    throw wrongField(`${at}.input_schema`, "must be a JSON schema");
  }
  return {
    type: "function",
    function: {
      name: tool.name,
      ...(typeof tool.description === "string"
        ? { description: tool.description }
        : {}),
      parameters: tool.input_schema,
      ...(tool.strict === true ? { strict: true } : {}),
    },
  };
}

function choiceOf(choice: JsonValue | undefined): JsonObject {
  if (choice === undefined || choice === null) return {};
  if (!isJsonObject(choice)) {
    throw wrongField("tool_choice", "must be an object");
  }
  const parallel = choice.disable_parallel_tool_use === true
    ? { parallel_tool_calls: false }
    : {};
  switch (choice.type) {
    case "auto":
    case "none":
      return { tool_choice: choice.type, ...parallel };
    case "any":
      return { tool_choice: "required", ...parallel };
    case "tool":
      if (typeof choice.name !== "string") {
        throw wrongField("tool_choice.name", "must be a string");
      }
      return {
        tool_choice: { type: "function", function: { name: choice.name } },
        ...parallel,
      };
    default:
      throw wrongField(
        "tool_choice.type",
        'must be "auto", "any", "tool" or "none"',
      );
  }
}

/**
 * Templates of models that think unless told otherwise know the switch under
 * this name. It is never turned on: some servers refuse that for other models.
 */
function thinkingOf(thinking: JsonValue | undefined): JsonObject {
  return isJsonObject(thinking) && thinking.type === "disabled"
    ? { chat_template_kwargs: { enable_thinking: false } }
    : {};
}

/** Structured output, in its present spelling and that of its beta. */
function formatOf(body: JsonObject): JsonObject | null {
  const config = isJsonObject(body.output_config) ? body.output_config : {};
  const format = config.format ?? body.output_format;
  if (!isJsonObject(format)) return null;
  if (format.type !== "json_schema" || !isJsonObject(format.schema)) {
    throw wrongField(
      "output_config.format",
      'must be of type "json_schema" with a schema',
    );
  }
  return {
    type: "json_schema",
    json_schema: { name: "answer", schema: format.schema, strict: true },
  };
}

/** The schema of a messages request, for the API's description. */
export function describeMessages(): JsonObject {
  return describeSchema(SCHEMA, describeNamed());
}
