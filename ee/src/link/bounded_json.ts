import { parseExactJson } from "@covey/core/domain";
import { WireError } from "./wire_error.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Parse JSON from a peer without letting its depth or size cost more than its bytes.
 *
 * @param bytes UTF-8 text, whose length the caller has bounded.
 * @param maxDepth Objects and arrays that may be open at once.
 * @returns The value, still unparsed as far as our own types go.
 * @throws {WireError} When it is no JSON, no UTF-8, or too deep.
 */
export function parseBoundedJson(bytes: Uint8Array, maxDepth = 32): unknown {
  return parseBounded(bytes, maxDepth, JSON.parse);
}

/**
 * Parse JSON from a peer, as `parseBoundedJson`, so that numbers which a double
 * cannot hold are written again as they came: a client's body passes unchanged.
 *
 * @param bytes UTF-8 text, whose length the caller has bounded.
 * @param maxDepth Objects and arrays that may be open at once.
 * @throws {WireError} When it is no JSON, no UTF-8, or too deep.
 */
export function parseExactBounded(
  bytes: Uint8Array,
  maxDepth: number,
): unknown {
  return parseBounded(bytes, maxDepth, parseExactJson);
}

function parseBounded(
  bytes: Uint8Array,
  maxDepth: number,
  parse: (text: string) => unknown,
): unknown {
  if (depthExceeds(bytes, maxDepth)) {
    throw new WireError(`Cannot read JSON nested deeper than ${maxDepth}`);
  }
  try {
    return parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new WireError("Cannot read a message that is not JSON", { cause });
  }
}

/**
 * Write JSON in which no number is lost: what JSON cannot say (an infinite
 * wait, say) becomes the largest exact integer.
 */
export function encodeJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, held: unknown) =>
      typeof held === "number" && !Number.isFinite(held)
        ? Number.MAX_SAFE_INTEGER
        : held,
  );
}

function depthExceeds(bytes: Uint8Array, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > maxDepth) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return false;
}
