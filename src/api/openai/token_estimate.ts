import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";

/**
 * Prompt tokens are estimated from the text before any engine has seen it: one
 * for every four bytes of UTF-8, which is near for English prose, high for
 * code and within a factor of two for other scripts. Only placement rests on
 * it, and engines report the true count with their usage.
 */
const BYTES_PER_TOKEN = 4;

/** What an image counts as: a 336 × 336 picture in patches of 14. */
const TOKENS_PER_IMAGE = 576;

const encoder = new TextEncoder();

/**
 * Estimate the tokens of a text.
 *
 * @param text Any text.
 * @returns Tokens, at least 1.
 */
export function estimateTextTokens(text: string): number {
  return Math.max(
    1,
    Math.ceil(encoder.encode(text).length / BYTES_PER_TOKEN),
  );
}

/**
 * Estimate the prompt tokens of a chat: its messages, at least one token each,
 * and the tools that are written into the prompt.
 *
 * @param messages Messages of the internal dialect.
 * @param tools Tool definitions, or undefined.
 * @returns Tokens.
 */
export function estimateChatTokens(
  messages: readonly JsonObject[],
  tools: JsonValue | undefined,
): number {
  let tokens = 0;
  for (const message of messages) {
    tokens += contentTokens(message.content);
    if (Array.isArray(message.tool_calls)) {
      tokens += jsonTokens(message.tool_calls);
    }
  }
  return Array.isArray(tools) && tools.length > 0
    ? tokens + jsonTokens(tools)
    : tokens;
}

function contentTokens(content: JsonValue | undefined): number {
  if (typeof content === "string") return estimateTextTokens(content);
  if (!Array.isArray(content)) return 1;
  let tokens = 0;
  for (const part of content) {
    if (isImagePart(part)) tokens += TOKENS_PER_IMAGE;
    else if (isJsonObject(part) && typeof part.text === "string") {
      tokens += estimateTextTokens(part.text);
    } else tokens += 1;
  }
  return Math.max(1, tokens);
}

/**
 * Tell whether a part of a message's content is a picture.
 *
 * @param part A content part.
 * @returns True for OpenAI's two spellings.
 */
export function isImagePart(part: JsonValue): boolean {
  return isJsonObject(part) &&
    (part.type === "image_url" || part.type === "input_image");
}

function jsonTokens(value: JsonValue): number {
  return estimateTextTokens(JSON.stringify(value));
}
