import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";
import { sampleOf } from "./schema_sample.ts";
import type { WrongWish } from "./simulated_wishes.ts";

/** What an answer consists of; pieces are its tokens. */
export type AnswerText =
  /** Numbered words, as many as are asked for. */
  | { readonly kind: "words" }
  /** JSON of the shape that was asked for. */
  | { readonly kind: "json"; readonly pieces: readonly string[] }
  /** A call of a tool, with the plainest arguments that its schema allows. */
  | {
    readonly kind: "call";
    readonly tool: string;
    readonly pieces: readonly string[];
  };

/** How long an answer gets, and how it ends. */
export interface AnswerLength {
  readonly tokens: number;
  readonly finishReason: "stop" | "length" | "tool_calls";
}

/** Length of an answer of words that nobody bounded. */
export const DEFAULT_OUTPUT_TOKENS = 64;
/** Characters of a token of JSON, about as with real ones. */
const PIECE = /[^]{1,4}/gu;

/**
 * Decide what a chat is answered with. A tool that may be called is called once
 * for each turn of the user: with its result at hand, words are the answer.
 *
 * @param body The request; its fields are of the kinds that the API lets pass.
 * @returns What to write, or the field that stands in the way.
 */
export function answerTextFor(body: JsonObject): AnswerText | WrongWish {
  const tool = toolFor(body);
  if (tool !== null) {
    if ("param" in tool) return tool;
    const { name, parameters } = tool;
    const pieces = piecesOf(parameters ?? {}, "tools");
    return "param" in pieces ? pieces : { kind: "call", tool: name, ...pieces };
  }
  const { response_format: format } = body;
  if (!isJsonObject(format)) return { kind: "words" };
  switch (format.type) {
    case "json_object":
      return { kind: "json", pieces: ["{", "}"] };
    case "json_schema": {
      const described = format.json_schema;
      const schema = isJsonObject(described) ? described.schema : undefined;
      const pieces = piecesOf(schema ?? true, "response_format");
      return "param" in pieces ? pieces : { kind: "json", ...pieces };
    }
    default:
      return { kind: "words" };
  }
}

/**
 * How long an answer gets.
 *
 * @param text What it consists of.
 * @param asked The most tokens asked for, or null.
 * @param room Tokens that the context has room for.
 */
export function lengthOf(
  text: AnswerText,
  asked: number | null,
  room: number,
): AnswerLength {
  if (text.kind === "words") {
    const tokens = Math.min(asked ?? DEFAULT_OUTPUT_TOKENS, room);
    const isCut = asked !== null || tokens < DEFAULT_OUTPUT_TOKENS;
    return { tokens, finishReason: isCut ? "length" : "stop" };
  }
  const { length } = text.pieces;
  const tokens = Math.min(length, asked ?? length, room);
  if (tokens < length) return { tokens, finishReason: "length" };
  return { tokens, finishReason: text.kind === "call" ? "tool_calls" : "stop" };
}

/**
 * A token of an answer.
 *
 * @param number Which one, counting from 1.
 * @param choice Of which of the request's answers; the first has plain numbers.
 */
export function pieceOf(
  text: AnswerText,
  number: number,
  choice: number,
): string {
  if (text.kind !== "words") return text.pieces[number - 1] ?? "";
  return choice === 0 ? `w${number} ` : `w${number}.${choice} `;
}

/**
 * Tokens of an answer in a row.
 *
 * @param after How many come before them.
 */
export function piecesAfter(
  text: AnswerText,
  after: number,
  count: number,
  choice: number,
): readonly string[] {
  return Array.from(
    { length: count },
    (_, at) => pieceOf(text, after + at + 1, choice),
  );
}

interface Tool {
  readonly name: string;
  readonly parameters: JsonValue | undefined;
}

/** The tool to call now, or null. */
function toolFor({ messages, tool_choice: choice, tools }: JsonObject):
  | Tool
  | WrongWish
  | null {
  const known = (Array.isArray(tools) ? tools : []).flatMap(described);
  const [any] = known;
  if (any === undefined || choice === "none") return null;
  if (choice === "required") return any;
  const wanted = isJsonObject(choice) ? nameIn(choice.function) : null;
  if (wanted !== null) {
    return known.find(({ name }) => name === wanted) ?? {
      param: "tool_choice",
      message: `The field "tool_choice" names ${
        JSON.stringify(wanted)
      }, which is none of the tools`,
    };
  }
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  return isJsonObject(last) && last.role === "user" ? any : null;
}

function described(tool: JsonValue): readonly Tool[] {
  if (!isJsonObject(tool)) return [];
  const name = nameIn(tool.function);
  const inner = isJsonObject(tool.function) ? tool.function : {};
  return name === null ? [] : [{ name, parameters: inner.parameters }];
}

function nameIn(described: JsonValue | undefined): string | null {
  return isJsonObject(described) && typeof described.name === "string"
    ? described.name
    : null;
}

function piecesOf(
  schema: JsonValue,
  param: string,
): { readonly pieces: readonly string[] } | WrongWish {
  const sample = sampleOf(schema);
  if (sample.kind === "none") {
    return {
      param,
      message:
        `The schema in "${param}" can not be simulated at ${sample.path}: ${sample.why}`,
    };
  }
  return { pieces: JSON.stringify(sample.value).match(PIECE) ?? [] };
}
