import {
  Fault,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";
import { holdsJson, wrongField } from "./request_fault.ts";
import { isImagePart } from "./token_estimate.ts";

/** A message under way: what follows may still belong to it. */
interface Turn {
  readonly texts: string[];
  readonly reasoning: string[];
  readonly calls: JsonObject[];
}

/**
 * Translate a response's `instructions` and `input` into messages. An
 * assistant's text, reasoning and calls are items of their own there, and one
 * message here.
 *
 * @param instructions The system prompt, or nothing.
 * @param input A string, or items.
 * @returns Messages of the internal dialect.
 * @throws {Fault} Naming the first item that is wrong.
 */
export function messagesOf(
  instructions: JsonValue | undefined,
  input: JsonValue | undefined,
): readonly JsonObject[] {
  const system = typeof instructions === "string" ? [instructions] : [];
  const messages: JsonObject[] = [];
  let turn: Turn | null = null;
  let shown: JsonValue[] = [];
  const endTurn = () => {
    if (turn !== null) messages.push(...assistantMessage(turn));
    turn = null;
  };
  const endResults = () => {
    if (shown.length > 0) messages.push({ role: "user", content: shown });
    shown = [];
  };
  for (const [index, item] of itemsOf(input).entries()) {
    const at = typeof input === "string" ? "input" : `input[${index}]`;
    const type = item.type ?? "message";
    if (!isResult(type)) endResults();
    if (type === "message" && item.role !== "assistant") {
      endTurn();
      const said = plainMessage(item, at);
      // What opens the conversation is one system prompt: templates know no second.
      if (said.role === "system" && messages.length === 0) {
        system.push(String(said.content));
      } else messages.push(said);
    } else if (isResult(type)) {
      endTurn();
      const content = contentOf(item.output, `${at}.output`);
      messages.push(resultMessage(item, content, at));
      // A tool's message holds text alone; what it shows beside it, the user shows.
      if (Array.isArray(content)) shown.push(...content.filter(isImagePart));
    } else {
      turn ??= { texts: [], reasoning: [], calls: [] };
      addToTurn(turn, item, at);
    }
  }
  endTurn();
  endResults();
  if (messages.length === 0 && system.length === 0) {
    throw wrongField("input", "must hold at least one message");
  }
  return system.length === 0
    ? messages
    : [{ role: "system", content: system.join("\n\n") }, ...messages];
}

function itemsOf(input: JsonValue | undefined): readonly JsonObject[] {
  if (typeof input === "string") {
    return [{ type: "message", role: "user", content: input }];
  }
  if (!Array.isArray(input) || input.length === 0) {
    throw wrongField("input", "must be a string or a non-empty array of items");
  }
  return input.map((item, index) => {
    if (isJsonObject(item)) return item;
    throw wrongField(`input[${index}]`, "must be an item object");
  });
}

function isResult(type: JsonValue): boolean {
  return type === "function_call_output" || type === "custom_tool_call_output";
}

function plainMessage(item: JsonObject, at: string): JsonObject {
  const { role } = item;
  if (role !== "user" && role !== "system" && role !== "developer") {
    throw wrongField(
      `${at}.role`,
      'must be "user", "assistant", "system" or "developer"',
    );
  }
  const content = contentOf(item.content, `${at}.content`);
  return role === "user"
    ? { role, content }
    : { role: "system", content: textIn(content) };
}

function resultMessage(
  item: JsonObject,
  content: JsonValue,
  at: string,
): JsonObject {
  if (typeof item.call_id !== "string") {
    throw wrongField(`${at}.call_id`, "must be a string");
  }
  return { role: "tool", tool_call_id: item.call_id, content: textIn(content) };
}

function addToTurn(turn: Turn, item: JsonObject, at: string): void {
  switch (item.type ?? "message") {
    case "message":
      turn.texts.push(textIn(contentOf(item.content, `${at}.content`)));
      return;
    case "reasoning":
      turn.reasoning.push(
        Array.isArray(item.content) ? textIn(item.content) : "",
      );
      return;
    case "function_call":
      turn.calls.push(pastCall(item, item.arguments, at));
      return;
    case "custom_tool_call":
      turn.calls.push(
        pastCall(item, JSON.stringify({ input: item.input ?? "" }), at),
      );
      return;
    case "item_reference":
      throw new Fault(
        "not_implemented",
        `Covey stores no responses, so it cannot refer to one ("${at}")`,
        { param: at },
      );
    default:
      // Traces of tools that another server ran mean nothing here.
      return;
  }
}

function pastCall(
  item: JsonObject,
  args: JsonValue | undefined,
  at: string,
): JsonObject {
  for (const key of ["call_id", "name"]) {
    if (typeof item[key] !== "string") {
      throw wrongField(`${at}.${key}`, "must be a string");
    }
  }
  if (typeof args !== "string" || !holdsJson(args)) {
    throw wrongField(`${at}.arguments`, "must be a string that holds JSON");
  }
  return {
    id: item.call_id,
    type: "function",
    function: { name: item.name, arguments: args },
  };
}

function assistantMessage(turn: Turn): readonly JsonObject[] {
  const content = turn.texts.join("\n");
  // A turn that says nothing is no turn; some engines refuse it (TRN-03).
  if (content === "" && turn.calls.length === 0) return [];
  const reasoning = turn.reasoning.filter((text) => text !== "").join("\n");
  return [{
    role: "assistant",
    content: content === "" ? null : content,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(turn.calls.length > 0 ? { tool_calls: turn.calls } : {}),
  }];
}

/** One string where there is only text, which every chat template can take. */
function contentOf(content: JsonValue | undefined, at: string): JsonValue {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) {
    throw wrongField(at, "must be a string or an array of content parts");
  }
  const parts = content.map((part, index) => partOf(part, `${at}[${index}]`));
  return parts.every(({ type }) => type === "text") ? textIn(parts) : parts;
}

function partOf(part: JsonValue, at: string): JsonObject {
  if (!isJsonObject(part)) throw wrongField(at, "must be a content part");
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      if (typeof part.text !== "string") {
        throw wrongField(`${at}.text`, "must be a string");
      }
      return { type: "text", text: part.text };
    case "refusal":
      return { type: "text", text: String(part.refusal ?? "") };
    case "input_image":
      if (typeof part.image_url === "string") {
        return { type: "image_url", image_url: { url: part.image_url } };
      }
      throw wrongField(`${at}.image_url`, "must be a URL");
    default:
      throw new Fault(
        "not_implemented",
        `Covey does not read content parts of type "${
          String(part.type).slice(0, 100)
        }" ("${at}")`,
        { param: `${at}.type` },
      );
  }
}

function textIn(content: JsonValue): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) =>
    isJsonObject(part) && typeof part.text === "string" ? part.text : ""
  ).filter((text) => text !== "").join("\n");
}
