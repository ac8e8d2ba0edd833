import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../domain/mod.ts";
import { type AnswerFacts, readAnswer } from "./answer_facts.ts";

/** What one server-sent event of the internal dialect is. */
export type StreamEvent =
  /** Nothing but comments or blank lines: a sign of life, never a token. */
  | { readonly kind: "comment" }
  /** The dialect's terminator. */
  | { readonly kind: "done" }
  /** The engine reports an error in its own words. */
  | { readonly kind: "error"; readonly message: string }
  /** A chunk of the answer. */
  | {
    readonly kind: "chunk";
    readonly facts: AnswerFacts;
    readonly json: JsonObject;
  }
  /** Data that is no JSON object: the stream is broken. */
  | { readonly kind: "unreadable" };

const DECODER = new TextDecoder();
const LINE_END = /\r\n|\n|\r/;

/**
 * Read one event.
 *
 * @param bytes The raw event, as `SseEvents` cut it.
 * @returns What it is.
 */
export function readStreamEvent(bytes: Uint8Array): StreamEvent {
  // Whole events only, so no character is cut here; a leading BOM is dropped.
  const text = DECODER.decode(bytes);
  const data: string[] = [];
  let isError = false;
  for (const line of text.split(LINE_END)) {
    if (line.startsWith("data:")) data.push(fieldOf(line, "data:"));
    else if (line === "data") data.push("");
    else if (line.startsWith("event:")) {
      isError ||= fieldOf(line, "event:") === "error";
    }
  }
  if (data.length === 0) return { kind: "comment" };
  const whole = data.join("\n");
  if (whole.trim() === "[DONE]") return { kind: "done" };
  const json = jsonOf(whole);
  if (json === undefined) return { kind: "unreadable" };
  const facts = readAnswer(json);
  if (facts.error !== null) return { kind: "error", message: facts.error };
  if (isError) return { kind: "error", message: "unnamed error" };
  return { kind: "chunk", facts, json };
}

function fieldOf(line: string, name: string): string {
  const value = line.slice(name.length);
  return value.startsWith(" ") ? value.slice(1) : value;
}

function jsonOf(text: string): JsonObject | undefined {
  let parsed: JsonValue;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
  return isJsonObject(parsed) ? parsed : undefined;
}
