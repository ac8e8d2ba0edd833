import { isJsonObject, type JsonObject } from "../../domain/mod.ts";
import { wrongField } from "../openai/request_fault.ts";
import {
  blocksOf,
  contentOf,
  shownParts,
  textOf,
  type UserPart,
} from "./content.ts";

/**
 * Translate one of Anthropic's messages. A user's turn becomes one message for
 * each tool result and one for what the user says.
 *
 * @param message The message.
 * @param at Where it stands, for the error.
 * @returns Messages of the internal dialect.
 * @throws {Fault} Naming the first block that is wrong.
 */
export function turnMessages(
  message: JsonObject,
  at: string,
): readonly JsonObject[] {
  switch (message.role) {
    case "user":
      return userMessages(blocksOf(message.content, `${at}.content`), at);
    case "assistant":
      return assistantMessages(blocksOf(message.content, `${at}.content`), at);
    case "system":
      return [{
        role: "system",
        content: textOf(message.content, `${at}.content`),
      }];
    default:
      throw wrongField(`${at}.role`, 'must be "user" or "assistant"');
  }
}

function userMessages(
  blocks: readonly JsonObject[],
  at: string,
): readonly JsonObject[] {
  const messages: JsonObject[] = [];
  const parts: UserPart[] = [];
  for (const [index, block] of blocks.entries()) {
    const here = `${at}.content[${index}]`;
    if (block.type !== "tool_result") {
      parts.push(...shownParts(block, here));
      continue;
    }
    if (typeof block.tool_use_id !== "string") {
      throw wrongField(`${here}.tool_use_id`, "must be a string");
    }
    const shown = blocksOf(block.content, `${here}.content`)
      .flatMap((one, n) => shownParts(one, `${here}.content[${n}]`));
    const text = shown.filter((part) => part.kind === "text");
    messages.push({
      role: "tool",
      tool_call_id: block.tool_use_id,
      content: failedOr(block.is_error === true, contentOf(text)),
    });
    // A tool's message holds text alone; what it shows beside it, the user shows.
    parts.push(...shown.filter((part) => part.kind === "image"));
  }
  if (parts.length > 0 || messages.length === 0) {
    messages.push({ role: "user", content: contentOf(parts) });
  }
  return messages;
}

/** The internal dialect has no mark for a tool that failed. */
function failedOr(failed: boolean, content: unknown): string {
  const text = typeof content === "string" ? content : "";
  return failed && text === "" ? "The tool failed" : text;
}

function assistantMessages(
  blocks: readonly JsonObject[],
  at: string,
): readonly JsonObject[] {
  const texts: string[] = [];
  const reasoning: string[] = [];
  const calls: JsonObject[] = [];
  for (const [index, block] of blocks.entries()) {
    const here = `${at}.content[${index}]`;
    switch (block.type) {
      case "text":
        if (typeof block.text !== "string") {
          throw wrongField(`${here}.text`, "must be a string");
        }
        texts.push(block.text);
        break;
      case "thinking":
        if (typeof block.thinking === "string") reasoning.push(block.thinking);
        break;
      case "tool_use":
        calls.push(toolCall(block, here));
        break;
      default:
        // Traces of tools that another server ran, and thinking it sealed, mean nothing here.
        break;
    }
  }
  const content = texts.join("\n");
  // A turn that says nothing is no turn; some engines refuse it (TRN-03).
  if (content === "" && calls.length === 0) return [];
  return [{
    role: "assistant",
    content: content === "" ? null : content,
    ...(reasoning.length > 0
      ? { reasoning_content: reasoning.join("\n") }
      : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }];
}

function toolCall(block: JsonObject, at: string): JsonObject {
  if (typeof block.id !== "string") {
    throw wrongField(`${at}.id`, "must be a string");
  }
  if (typeof block.name !== "string") {
    throw wrongField(`${at}.name`, "must be a string");
  }
  if (block.input !== undefined && !isJsonObject(block.input)) {
    throw wrongField(`${at}.input`, "must be an object");
  }
  return {
    id: block.id,
    type: "function",
    function: {
      name: block.name,
      arguments: JSON.stringify(block.input ?? {}),
    },
  };
}
