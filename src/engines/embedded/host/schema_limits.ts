import { isJsonObject, type JsonObject } from "../../../domain/mod.ts";

/**
 * Keywords that forbid something a grammar of this kind can not check. They are
 * refused by name rather than ignored: an answer that breaks the schema it was
 * asked for would be worse.
 */
const INEXPRESSIBLE = [
  "not",
  "if",
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
  "patternProperties",
  "minProperties",
  "maxProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "contains",
  "uniqueItems",
  "pattern",
  "multipleOf",
  "$dynamicRef",
];
/** Each stands for a whole value: what is beside it would be passed over. */
const WHOLE = ["$ref", "allOf", "anyOf", "oneOf"];
const PART = ["properties", "required", "items", "prefixItems"];

/**
 * Find what of a schema no grammar can hold an answer to. Looks at its own
 * keywords alone, not at schemas within it. Pure.
 *
 * @param schema The schema.
 * @returns A clause that names it, or null where there is nothing.
 */
export function inexpressibleIn(schema: JsonObject): string | null {
  const keyword = INEXPRESSIBLE.find((one) => (schema[one] ?? false) !== false);
  if (keyword !== undefined) return `"${keyword}" is not supported`;
  if (!allowsAnyName(schema)) return `"propertyNames" is not supported`;
  const whole = WHOLE.find((one) => schema[one] !== undefined);
  const part = PART.find((one) => schema[one] !== undefined);
  return whole === undefined || part === undefined
    ? null
    : `"${whole}" beside "${part}" is not supported`;
}

/** Names are texts in any case: who says that alone, as zod does of records, says nothing. */
function allowsAnyName({ propertyNames: names }: JsonObject): boolean {
  return names === undefined || names === true ||
    (isJsonObject(names) &&
      Object.entries(names).every(([key, value]) =>
        key === "type" && value === "string"
      ));
}
