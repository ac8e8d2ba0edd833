import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/domain/mod.ts";
import type { Entropy } from "../../../src/platform/mod.ts";
import { below, pick, valueOf } from "./schema_value.ts";

/** Text at which JSON readers like to trip. */
const PIECES = ['"', "{", "[", "]", "}", ",", ":", "\\u0000", "\\", "1e999"];

/**
 * Change a few places of a sound body: values put in another's place, keys
 * left out, lists made longer.
 *
 * @param body What a client might send; it is not changed.
 * @param entropy Where chance comes from.
 */
export function spoilBody(body: JsonObject, entropy: Entropy): JsonObject {
  let spoiled: JsonObject = structuredClone(body);
  for (let left = below(entropy, 4); left > 0; left--) {
    const changed = spoilValue(spoiled, entropy);
    if (isJsonObject(changed)) spoiled = changed;
  }
  return spoiled;
}

function spoilValue(value: JsonValue, entropy: Entropy): JsonValue {
  if (below(entropy, 4) === 0) {
    return valueOf(undefined, { entropy, known: {} });
  }
  if (Array.isArray(value)) {
    const at = below(entropy, value.length + 1);
    const one = value[at];
    if (one === undefined) return [...value, ...value];
    return value.with(at, spoilValue(one, entropy));
  }
  if (!isJsonObject(value)) return valueOf(undefined, { entropy, known: {} });
  const name = pick(entropy, Object.keys(value));
  if (name === undefined) return { a: 1 };
  const { [name]: one = null, ...rest } = value;
  if (name === "model" || below(entropy, 6) > 0) {
    return {
      ...rest,
      [name]: name === "model" ? one : spoilValue(one, entropy),
    };
  }
  return rest;
}

/**
 * Spoil the text of a body as a bad client or a cut line would.
 *
 * @param text JSON.
 * @param entropy Where chance comes from.
 * @returns Bytes, which need be neither JSON nor UTF-8.
 */
export function spoilText(
  text: string,
  entropy: Entropy,
): Uint8Array<ArrayBuffer> {
  const at = below(entropy, text.length + 1);
  switch (below(entropy, 5)) {
    case 0:
      return encode(text.slice(0, at));
    case 1:
      return encode(text.slice(0, at) + pick(entropy, PIECES) + text.slice(at));
    case 2: {
      const bytes = encode(text);
      bytes[below(entropy, bytes.length)] = below(entropy, 256);
      return bytes;
    }
    case 3:
      return Uint8Array.from(entropy.bytes(below(entropy, 500)));
    default:
      return encode("[".repeat(below(entropy, 2_000)) + text);
  }
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(new TextEncoder().encode(text));
}
