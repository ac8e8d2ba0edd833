import {
  Fault,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExactJson,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { type BodyBounds, readBody } from "./body.ts";
import type { HeadFields } from "./head_fields.ts";
import { findJsonFlaw, jsonDepth } from "./json_error.ts";

/** Deepest nesting of arrays and objects that is accepted. */
export const MAX_JSON_DEPTH = 512;

const READ_AS_JSON = new Set([
  "",
  "application/json",
  "text/json",
  "text/plain",
  // What `curl -d` sends (REQ-04).
  "application/x-www-form-urlencoded",
  "application/octet-stream",
]);

/**
 * Read a request's body as one JSON object.
 *
 * @param request The request.
 * @param bounds What is too much and too slow.
 * @param clock Measures the deadlines.
 * @param fields The request's head, where somebody has read it already.
 * @returns The object.
 * @throws {Fault} When the body can not be read as that.
 */
export async function readJsonObject(
  request: Request,
  bounds: BodyBounds,
  clock: Clock,
  fields: HeadFields = new Map(request.headers),
): Promise<JsonObject> {
  checkContentType(fields.get("content-type") ?? "");
  return parseJsonObject(await readBody(request, bounds, clock, fields));
}

function checkContentType(header: string): void {
  const type = (header.split(";", 1)[0] ?? "").trim().toLowerCase();
  if (READ_AS_JSON.has(type) || type.endsWith("+json")) return;
  throw new Fault(
    "unsupported_media_type",
    `Cannot read a body with content-type "${type}"; send application/json`,
    { param: "content-type" },
  );
}

/**
 * Parse bytes as one JSON object, telling where they are none.
 *
 * @param bytes UTF-8, with or without a byte order mark.
 * @returns The object.
 * @throws {Fault} `invalid_request` with the position of the first flaw.
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject {
  const text = decodeUtf8(bytes);
  if (isTooDeep(text, bytes)) {
    throw new Fault(
      "invalid_request",
      `The request body is nested deeper than ${MAX_JSON_DEPTH} levels`,
    );
  }
  if (text.trim() === "") {
    throw new Fault(
      "invalid_request",
      "The request body is empty; send a JSON object",
    );
  }
  const value = parse(text);
  if (!isJsonObject(value)) {
    throw new Fault(
      "invalid_request",
      `The request body is ${nameOf(value)}; send a JSON object`,
    );
  }
  return value;
}

/** What has few brackets cannot be deep, and counting them is much the cheaper. */
function isTooDeep(text: string, bytes: Uint8Array): boolean {
  let left = MAX_JSON_DEPTH;
  for (const bracket of ["{", "["]) {
    let at = text.indexOf(bracket);
    for (; at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (left-- === 0) {
        return jsonDepth(bytes, MAX_JSON_DEPTH) > MAX_JSON_DEPTH;
      }
    }
  }
  return false;
}

const DECODER = new TextDecoder("utf-8", { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return DECODER.decode(bytes);
  } catch (error) {
    throw new Fault(
      "invalid_request",
      "The request body is not valid UTF-8",
      { cause: error },
    );
  }
}

function parse(text: string): JsonValue {
  try {
    return parseExactJson(text);
  } catch (error) {
    throw new Fault(
      "invalid_request",
      `The request body is not valid JSON: ${describeFlaw(text)}`,
      { cause: error },
    );
  }
}

function describeFlaw(text: string): string {
  const flaw = findJsonFlaw(text);
  if (flaw === undefined) return "it can not be parsed";
  const { offset, expected } = flaw;
  const before = text.slice(0, offset).split("\n");
  const place = `line ${before.length}, column ${
    (before.at(-1) ?? "").length + 1
  }, offset ${offset}`;
  const found = offset >= text.length
    ? "the end"
    : JSON.stringify(String.fromCodePoint(text.codePointAt(offset) ?? 0));
  return `expected ${expected} but found ${found} at ${place}`;
}

function nameOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}
