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

/**
 * Estimate the tokens of a text.
 *
 * @param text Any text.
 * @returns Tokens, at least 1.
 */
export function estimateTextTokens(text: string): number {
  return Math.max(1, Math.ceil(utf8Length(text) / BYTES_PER_TOKEN));
}

const SHORT = 512;
const encoder = new TextEncoder();
/** Written to and never read. */
const SCRATCH: Uint8Array<ArrayBuffer> = new Uint8Array(16 * 1024);

/** Bytes of a text as UTF-8, without keeping them: a long prompt is none to copy for its length. */
function utf8Length(text: string): number {
  if (text.length <= SHORT) return shortLength(text);
  let bytes = 0;
  for (let at = 0; at < text.length;) {
    // One more than there is room for: no pair is ever cut.
    const rest = text.slice(at, at + SCRATCH.length + 1);
    const { read, written } = encoder.encodeInto(rest, SCRATCH);
    at += read;
    bytes += written;
  }
  return bytes;
}

function shortLength(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    // Both halves of a pair make four bytes together; one that is alone, three.
    bytes += unit < 0x800 ? 1 : 2;
    if (isPairAt(text, at)) at++;
  }
  return bytes;
}

function isPairAt(text: string, at: number): boolean {
  const [high, low] = [text.charCodeAt(at), text.charCodeAt(at + 1)];
  return high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000;
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
