import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";
import type { Segment, Transcript, Word } from "./transcript.ts";

/** Tokens that mark times, languages and tasks. */
const MARK = /^(?:\[_.*\]|<\|.*\|>)$/;
/** Languages without blanks between words: there each token counts as one. */
const UNSPACED = new Set(["zh", "ja", "th", "lo", "my", "yue"]);
const DECODER = new TextDecoder();
const STRICT_DECODER = new TextDecoder("utf-8", { fatal: true });

/**
 * Read the file that whisper.cpp writes with `-oj`, or with `-ojf`, which has
 * the times of words too.
 *
 * @param file Its bytes.
 * @returns The transcript, or undefined when it has another form.
 */
export function readWhisperJson(file: Uint8Array): Transcript | undefined {
  const value = jsonOf(file);
  if (!isJsonObject(value) || !Array.isArray(value.transcription)) {
    return undefined;
  }
  const { result } = value;
  const language = isJsonObject(result) && typeof result.language === "string"
    ? result.language
    : null;
  const segments: Segment[] = [];
  let words: Word[] | null = [];
  for (const part of value.transcription) {
    if (!isJsonObject(part)) return undefined;
    const times = timesOf(part);
    const { text, tokens } = part;
    if (typeof text !== "string" || times === null) return undefined;
    segments.push({ ...times, text: textOf(text).trim() });
    if (!Array.isArray(tokens)) words = null;
    else words?.push(...wordsOf(tokens, UNSPACED.has(language ?? "")));
  }
  return {
    text: segments.map(({ text }) => text).join(" ").trim(),
    segments,
    words,
    language,
  };
}

/**
 * A token may be a part of a character, and is written as it is: the file is
 * read byte for byte, and its texts are put together before they are decoded.
 */
function jsonOf(file: Uint8Array): JsonValue | undefined {
  const pieces: string[] = [];
  for (let at = 0; at < file.length; at += 8192) {
    pieces.push(String.fromCharCode(...file.subarray(at, at + 8192)));
  }
  try {
    return JSON.parse(pieces.join(""));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function wordsOf(tokens: readonly JsonValue[], isUnspaced: boolean): Word[] {
  const words: { text: string; start: number; end: number }[] = [];
  for (const token of tokens) {
    if (!isJsonObject(token) || typeof token.text !== "string") continue;
    const times = timesOf(token);
    if (times === null || MARK.test(token.text)) continue;
    const last = words.at(-1);
    const begins = last === undefined || token.text.startsWith(" ") ||
      (isUnspaced && isWhole(last.text));
    if (begins) words.push({ text: token.text, ...times });
    else {
      last.text += token.text;
      last.end = times.end;
    }
  }
  return words.flatMap(({ text, start, end }) => {
    const word = textOf(text).trim();
    return word === "" ? [] : [{ word, start, end }];
  });
}

/** Times in milliseconds, as seconds. */
function timesOf({ offsets }: JsonObject) {
  if (!isJsonObject(offsets)) return null;
  const { from, to } = offsets;
  return typeof from === "number" && typeof to === "number"
    ? { start: from / 1000, end: to / 1000 }
    : null;
}

/** Decode a text that was read byte for byte; one with escapes beyond bytes is what it is. */
function textOf(text: string): string {
  return isBytes(text) ? DECODER.decode(bytesOf(text)) : text;
}

function isWhole(text: string): boolean {
  if (!isBytes(text)) return true;
  try {
    STRICT_DECODER.decode(bytesOf(text));
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

function isBytes(text: string): boolean {
  // deno-lint-ignore no-control-regex
  return /^[\x00-\xff]*$/.test(text);
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
