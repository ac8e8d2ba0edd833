import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

/** What V8 knows of JSON and TypeScript's library does not yet (TC39 `JSON.parse` source text access). */
interface SourceAccess {
  parse(
    text: string,
    reviver: (
      key: string,
      value: unknown,
      context: { readonly source?: string },
    ) => unknown,
  ): JsonValue;
  rawJSON(source: string): JsonValue;
}

const json: SourceAccess = JSON as unknown as SourceAccess;

/** The least that a double cannot hold: whole numbers of 16 digits, exponents of three. Fractions pass. */
const MAY_BE_INEXACT = /(?<![.\d])\d{16}|\d[eE]\+?\d{3}/;

/**
 * Parse JSON so that writing it again gives every number as it came: one that
 * a double cannot hold stays as its own text. Such a number reads as an object
 * that is no number, so a field that must be one is refused.
 *
 * @param text JSON.
 * @returns The value.
 * @throws {SyntaxError} When the text is no JSON.
 */
export function parseExactJson(text: string): JsonValue {
  if (!MAY_BE_INEXACT.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value, { source }) => {
    if (typeof value !== "number" || source === undefined) return value;
    return isExact(value, source) ? value : json.rawJSON(source);
  });
}

/** Fractions are what a double makes of them; whole numbers must not change. */
function isExact(value: number, source: string): boolean {
  return Number.isFinite(value) &&
    (Number.isSafeInteger(value) || !/^-?\d+$/.test(source));
}

/**
 * Parse a text that must be one JSON object, such as a tool call's arguments.
 *
 * @param text The text.
 * @returns The object, or undefined where it is none.
 */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value = parseExactJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // What is no JSON is no object; the caller says what that means.
    return undefined;
  }
}
