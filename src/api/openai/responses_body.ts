import * as z from "zod";
import {
  Fault,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";
import { checkFields, wrongField } from "./request_fault.ts";
import { messagesOf } from "./responses_input.ts";
import { describeNamed } from "./generation.ts";
import { describeSchema } from "../openapi_schema.ts";

const SCHEMA = z.looseObject({
  instructions: z.string({ error: "must be a string" }).nullish(),
  max_output_tokens: z.int({ error: "must be a whole number of at least 1" })
    .min(1, { error: "must be a whole number of at least 1" }).nullish(),
  tools: z.array(
    z.looseObject({ type: z.string({ error: "must be a string" }) }, {
      error: "must be a tool object",
    }),
    { error: "must be an array of tools" },
  ).nullish(),
  text: z.looseObject({}, { error: "must be an object" }).nullish(),
  reasoning: z.looseObject({}, { error: "must be an object" }).nullish(),
});

/** What only a server that stores responses, or runs tools itself, can do. */
const NEEDS_STORE = ["previous_response_id", "conversation", "prompt"] as const;

/** Options that both dialects spell alike. */
const SAME = [
  "model",
  "stream",
  "temperature",
  "top_p",
  "parallel_tool_calls",
] as const;

/** A request for a response in the internal dialect. */
export interface ResponsesRequest {
  readonly body: JsonObject;
  /** Names of the tools whose input is free text. */
  readonly freeTools: ReadonlySet<string>;
}

/**
 * Translate the body of `POST /v1/responses`. Pure. `store`, `include` and
 * what else changes nothing for the answer is left out; so are tools that
 * OpenAI's own servers run, which the model then simply does not have.
 *
 * @param body The body.
 * @returns The request.
 * @throws {Fault} Naming the first field that is wrong, or that nobody here can serve.
 */
export function responsesRequestOf(body: JsonObject): ResponsesRequest {
  const fields = checkFields(SCHEMA, body);
  refuseUnknown(body);
  const given = Array.isArray(body.tools)
    ? body.tools.filter((one) => isJsonObject(one))
    : [];
  const tools = given.flatMap(toolOf);
  const format = formatOf(fields.text?.format as JsonValue | undefined);
  const effort = fields.reasoning?.effort;
  return {
    freeTools: new Set(
      given.filter(({ type }) => type === "custom")
        .map(({ name }) => String(name)),
    ),
    body: {
      ...Object.fromEntries(
        SAME.filter((key) => body[key] !== undefined && body[key] !== null)
          .filter((key) => key !== "parallel_tool_calls" || tools.length > 0)
          .map((key) => [key, body[key]]),
      ),
      messages: messagesOf(body.instructions, body.input),
      ...(typeof fields.max_output_tokens === "number"
        ? { max_tokens: fields.max_output_tokens }
        : {}),
      ...(tools.length > 0 ? { tools, ...choiceOf(body.tool_choice) } : {}),
      ...(format === null ? {} : { response_format: format }),
      ...(typeof effort === "string" ? { reasoning_effort: effort } : {}),
      ...(body.stream === true
        ? { stream_options: { include_usage: true } }
        : {}),
    },
  };
}

const LOGPROBS = "message.output_text.logprobs";

function refuseUnknown(body: JsonObject): void {
  for (const key of NEEDS_STORE) {
    if (body[key] === undefined || body[key] === null) continue;
    throw new Fault(
      "not_implemented",
      `Covey stores no responses, so "${key}" means nothing to it; send the whole conversation as "input"`,
      { param: key },
    );
  }
  if (body.background === true) {
    throw new Fault(
      "not_implemented",
      'Covey makes no response in the "background"; ask without it',
      { param: "background" },
    );
  }
  if (Array.isArray(body.include) && body.include.includes(LOGPROBS)) {
    throw new Fault(
      "not_implemented",
      `Covey includes no "${LOGPROBS}"; ask for them by /v1/chat/completions`,
      { param: "include" },
    );
  }
}

function toolOf(tool: JsonObject, index: number): readonly JsonObject[] {
  if (tool.type !== "function" && tool.type !== "custom") return [];
  const { name, description, parameters, strict } = tool;
  if (typeof name !== "string") {
    throw wrongField(`tools[${index}].name`, "must be a string");
  }
  return [{
    type: "function",
    function: {
      name,
      ...(typeof description === "string" ? { description } : {}),
      parameters: tool.type === "custom"
        ? FREE_INPUT
        : parameters ?? { type: "object", properties: {} },
      ...(typeof strict === "boolean" ? { strict } : {}),
    },
  }];
}

/** The internal dialect has no tool that takes free text; this is one in its words. */
const FREE_INPUT: JsonObject = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

function choiceOf(choice: JsonValue | undefined): JsonObject {
  if (choice === undefined || choice === null) return {};
  if (choice === "auto" || choice === "none" || choice === "required") {
    return { tool_choice: choice };
  }
  if (isJsonObject(choice)) {
    const { type, name, mode } = choice;
    if (
      (type === "function" || type === "custom") && typeof name === "string"
    ) return { tool_choice: { type: "function", function: { name } } };
    if (type === "allowed_tools") {
      return { tool_choice: mode === "required" ? "required" : "auto" };
    }
  }
  throw wrongField(
    "tool_choice",
    'must be "auto", "none", "required" or name a function',
  );
}

function formatOf(format: JsonValue | undefined): JsonObject | null {
  if (!isJsonObject(format) || format.type === "text") return null;
  if (format.type === "json_object") return { type: "json_object" };
  if (format.type !== "json_schema" || !isJsonObject(format.schema)) {
    throw wrongField(
      "text.format",
      'must be of type "text", "json_object" or "json_schema" with a schema',
    );
  }
  const { name, schema, strict } = format;
  return {
    type: "json_schema",
    json_schema: {
      name: typeof name === "string" ? name : "answer",
      schema,
      ...(typeof strict === "boolean" ? { strict } : {}),
    },
  };
}

/** The schema of a request for a response, for the API's description. */
export function describeResponses(): JsonObject {
  return describeSchema(SCHEMA, describeNamed());
}
