import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";

/** A value that satisfies a schema, or the place in it that stands in the way. */
export type SchemaSample =
  | { readonly kind: "sample"; readonly value: JsonValue }
  | { readonly kind: "none"; readonly path: string; readonly why: string };

const MOST_LEVELS = 32;
const MOST_VALUES = 2_000;
const MOST_CHARACTERS = 10_000;

/** Keywords under which the plainest value may be a wrong one. */
const UNREAD = [
  "not",
  "if",
  "pattern",
  "patternProperties",
  "propertyNames",
  "contains",
  "dependentRequired",
  "dependentSchemas",
  "minProperties",
  "unevaluatedProperties",
  "$dynamicRef",
];

/** Keywords that ask for nothing. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  "title",
  "description",
  "default",
  "examples",
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
  "deprecated",
]);

/** Texts of formats; other formats are annotations. */
const FORMATS: Readonly<Record<string, string>> = {
  date: "2000-01-01",
  time: "00:00:00Z",
  "date-time": "2000-01-01T00:00:00Z",
  duration: "PT0S",
  email: "a@example.org",
  hostname: "example.org",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.org/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

/**
 * Find the plainest value of a schema: required properties alone, the first of
 * what may be chosen, the least number and the shortest list that is allowed.
 * The same schema always gives the same one.
 *
 * @param schema A JSON Schema, bounded in depth and size here.
 * @returns The value, or why there is none.
 */
export function sampleOf(schema: JsonValue): SchemaSample {
  try {
    const value = new SchemaReader(schema).value(schema, "#", 0);
    return { kind: "sample", value };
  } catch (error) {
    if (!(error instanceof Unsatisfied)) throw error;
    return { kind: "none", path: error.path, why: error.message };
  }
}

class Unsatisfied extends Error {
  readonly path: string;

  constructor(path: string, why: string) {
    super(why);
    this.path = path;
  }
}

class SchemaReader {
  readonly #document: JsonValue;
  #values = 0;

  constructor(document: JsonValue) {
    this.#document = document;
  }

  value(schema: JsonValue, path: string, level: number): JsonValue {
    if (schema === true) return {};
    if (!isJsonObject(schema)) {
      throw new Unsatisfied(path, "nothing satisfies what is no object");
    }
    if (level > MOST_LEVELS) {
      throw new Unsatisfied(path, `it goes deeper than ${MOST_LEVELS} levels`);
    }
    if (++this.#values > MOST_VALUES) {
      throw new Unsatisfied(
        path,
        `it asks for more than ${MOST_VALUES} values`,
      );
    }
    const unread = UNREAD.find((keyword) => schema[keyword] !== undefined);
    if (unread !== undefined) {
      throw new Unsatisfied(path, `"${unread}" is not simulated`);
    }
    if (schema.const !== undefined) return schema.const;
    if (Array.isArray(schema.enum)) return first(schema.enum, `${path}/enum`);
    if (schema.$ref !== undefined) {
      const { $ref, ...beside } = schema;
      const target = this.#target($ref, path);
      const at = String($ref);
      return this.value(merged(beside, target, at), at, level + 1);
    }
    for (const keyword of ["allOf", "anyOf", "oneOf"] as const) {
      const branches = schema[keyword];
      if (!Array.isArray(branches)) continue;
      const { [keyword]: _, ...beside } = schema;
      const at = `${path}/${keyword}`;
      const chosen = keyword === "allOf"
        ? branches.reduce((one, other) => merged(one, other, at), true)
        : first(branches, at);
      return this.value(merged(beside, chosen, at), at, level + 1);
    }
    return this.#ofType(schema, path, level);
  }

  #ofType(schema: JsonObject, path: string, level: number): JsonValue {
    const type = typeOf(schema);
    switch (type) {
      case "object":
        return this.#object(schema, path, level);
      case "array":
        return this.#array(schema, path, level);
      case "string":
        return text(schema, path);
      case "integer":
      case "number":
        return number(schema, type, path);
      case "boolean":
        return false;
      case "null":
        return null;
      default:
        throw new Unsatisfied(path, `no value has the type ${quote(type)}`);
    }
  }

  #object(schema: JsonObject, path: string, level: number): JsonValue {
    const { properties = {}, required = [] } = schema;
    const value: Record<string, JsonValue> = {};
    if (!Array.isArray(required) || !isJsonObject(properties)) {
      throw new Unsatisfied(path, "its properties can not be read");
    }
    for (const name of required) {
      if (typeof name !== "string") {
        throw new Unsatisfied(`${path}/required`, "a name is no text");
      }
      const property = Object.hasOwn(properties, name)
        ? properties[name]
        : undefined;
      const inner = property ?? schema.additionalProperties ?? true;
      // A name such as "__proto__" is a property like any other.
      Object.defineProperty(value, name, {
        value: this.value(inner, `${path}/properties/${name}`, level + 1),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return value;
  }

  #array(schema: JsonObject, path: string, level: number): JsonValue {
    const { items, minItems = 0, prefixItems = [], uniqueItems } = schema;
    const count = typeof minItems === "number" ? minItems : 0;
    if (uniqueItems === true && count > 1) {
      throw new Unsatisfied(path, `"uniqueItems" is not simulated`);
    }
    if (count > MOST_VALUES) {
      throw new Unsatisfied(
        path,
        `it asks for more than ${MOST_VALUES} values`,
      );
    }
    const places = Array.isArray(prefixItems) ? prefixItems : [];
    return Array.from({ length: count }, (_, at) =>
      this.value(
        places[at] ?? items ?? true,
        `${path}/${at < places.length ? `prefixItems/${at}` : "items"}`,
        level + 1,
      ));
  }

  /** What a reference points to: the document, or something in it. */
  #target(reference: JsonValue, path: string): JsonValue {
    if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) {
      throw new Unsatisfied(path, `"$ref" ${quote(reference)} leads elsewhere`);
    }
    let target: JsonValue | undefined = this.#document;
    for (const step of reference.split("/").slice(1)) {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      target = Array.isArray(target)
        ? target[Number(name)]
        : isJsonObject(target) && Object.hasOwn(target, name)
        ? target[name]
        : undefined;
    }
    if (target === undefined) {
      throw new Unsatisfied(path, `"$ref" ${quote(reference)} leads nowhere`);
    }
    return target;
  }
}

/** Two schemas as one that asks for both. */
function merged(one: JsonValue, other: JsonValue, path: string): JsonValue {
  if (one === true) return other;
  if (other === true) return one;
  if (!isJsonObject(one) || !isJsonObject(other)) {
    throw new Unsatisfied(path, "nothing satisfies what is no object");
  }
  const both: Record<string, JsonValue | undefined> = { ...one, ...other };
  for (const [keyword, left] of Object.entries(one)) {
    const right = other[keyword];
    if (right === undefined || ANNOTATIONS.has(keyword)) continue;
    if (keyword === "properties" && isJsonObject(left) && isJsonObject(right)) {
      both.properties = jointProperties(left, right);
    } else if (Array.isArray(left) && Array.isArray(right)) {
      if (keyword !== "required") {
        throw new Unsatisfied(
          path,
          `two "${keyword}" at once are not simulated`,
        );
      }
      both.required = [...new Set([...left, ...right])];
    } else if (JSON.stringify(left) !== JSON.stringify(right)) {
      throw new Unsatisfied(path, `two "${keyword}" at once are not simulated`);
    }
  }
  return both;
}

function jointProperties(left: JsonObject, right: JsonObject): JsonObject {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return Object.fromEntries(
    [...names].map((name) => {
      const both = [left[name], right[name]].filter((one) => one !== undefined);
      return [name, both.length === 1 ? both[0] ?? true : { allOf: both }];
    }),
  );
}

/** The type asked for, or the one that the other keywords speak of. */
function typeOf(schema: JsonObject): JsonValue {
  const { type } = schema;
  if (Array.isArray(type)) return type[0] ?? "null";
  if (type !== undefined) return type;
  if (schema.items !== undefined || schema.prefixItems !== undefined) {
    return "array";
  }
  return "object";
}

function text(schema: JsonObject, path: string): string {
  const { format, maxLength = MOST_CHARACTERS, minLength = 0 } = schema;
  const known = typeof format === "string" ? FORMATS[format] : undefined;
  const least = Number(minLength);
  const most = Math.min(Number(maxLength), MOST_CHARACTERS);
  if (!(least <= most)) {
    throw new Unsatisfied(
      path,
      `a text of ${least} to ${most} characters is not simulated`,
    );
  }
  if (known !== undefined && known.length >= least && known.length <= most) {
    return known;
  }
  return "text".slice(0, most).padEnd(least, "x");
}

function number(
  schema: JsonObject,
  type: "integer" | "number",
  path: string,
): number {
  const step = asNumber(schema.multipleOf) ?? (type === "integer" ? 1 : null);
  const above = asNumber(schema.exclusiveMinimum);
  const below = asNumber(schema.exclusiveMaximum);
  const least = Math.max(
    asNumber(schema.minimum) ?? -Infinity,
    above ?? -Infinity,
  );
  const most = Math.min(
    asNumber(schema.maximum) ?? Infinity,
    below ?? Infinity,
  );
  const fits = (value: number) =>
    value >= least && value <= most && value !== above && value !== below;
  const onStep = (value: number, round: (of: number) => number) =>
    step === null ? value : round(value / step) * step;
  const unit = step ?? 1;
  const found = [
    0,
    onStep(least, Math.ceil),
    onStep(least, Math.floor) + unit,
    onStep(most, Math.floor),
    onStep(most, Math.ceil) - unit,
    (least + most) / 2,
  ].find((value) =>
    fits(value) && (type === "number" || Number.isInteger(value)) &&
    (step === null || Number.isInteger(value / step))
  );
  if (found === undefined) {
    throw new Unsatisfied(path, "no number was found between its bounds");
  }
  // "-0" is 0.
  return found + 0;
}

function asNumber(value: JsonValue | undefined): number | null {
  return typeof value === "number" ? value : null;
}

function first(values: readonly JsonValue[], path: string): JsonValue {
  const [one] = values;
  if (one === undefined) throw new Unsatisfied(path, "it allows nothing");
  return one;
}

function quote(value: JsonValue): string {
  return JSON.stringify(value).slice(0, 80);
}
