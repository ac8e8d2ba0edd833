import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../domain/mod.ts";

const TYPES: ReadonlySet<JsonValue> = new Set([
  "object",
  "array",
  "string",
  "integer",
  "number",
  "boolean",
  "null",
]);

/**
 * Keep of a schema what a grammar can always hold an answer to: types, the
 * properties of objects with those that are required, what lists hold, and
 * values that are named. Pure; schemas within it stay as they are.
 *
 * @param schema The schema.
 * @returns One that allows more, never less.
 */
export function gistOf(schema: JsonObject): JsonObject {
  if (schema.const !== undefined) return { const: schema.const };
  const { enum: values } = schema;
  if (Array.isArray(values) && values.length > 0) return { enum: values };
  if (isJsonObject(schema.properties)) {
    const { properties, required } = schema;
    return {
      type: "object",
      properties,
      required: Array.isArray(required)
        ? required.filter((name) =>
          typeof name === "string" && Object.hasOwn(properties, name)
        )
        : [],
    };
  }
  const { items, type } = schema;
  if (type === "array" && (isJsonObject(items) || items === true)) {
    return { type, items };
  }
  const types = Array.isArray(type)
    ? type.filter((one) => TYPES.has(one))
    : type !== undefined && TYPES.has(type)
    ? [type]
    : [];
  return types.length === 0 ? {} : { type: types };
}
