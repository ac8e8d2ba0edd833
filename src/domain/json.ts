/** JSON as data: what a body may hold once it is parsed. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | JsonObject;

/** A JSON object; absent keys read as undefined. */
export interface JsonObject {
  /** Value of a key. */
  readonly [key: string]: JsonValue | undefined;
}

/**
 * Tell whether a JSON value is an object (neither array nor null).
 *
 * @param value Any JSON value, or undefined for an absent one.
 * @returns True for an object.
 */
export function isJsonObject(
  value: JsonValue | undefined,
): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
