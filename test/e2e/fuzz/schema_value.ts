import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/domain/mod.ts";
import type { Entropy } from "../../../src/platform/mod.ts";

/** Values that a schema's own words do not lead to, and parsers like to trip over. */
const STRANGE: readonly JsonValue[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  9_007_199_254_740_993,
  "",
  " ",
  "\u0000",
  "__proto__",
  "../../etc/passwd",
  "𝕬\u202e\ufeff",
  "\ud800",
  "a".repeat(3_000),
  [],
  {},
  [[[[[[[[]]]]]]]],
  { constructor: { prototype: 1 } },
];
/** One value of so many is not what the schema says. */
const ODDS = 40;
const DEEPEST = 8;
const WORDS = ["user", "assistant", "system", "tool", "text", "function", "x"];

/** What values are made with. */
export interface ValueMeans {
  readonly entropy: Entropy;
  /** Values for properties of a name, so that some requests get past the door. */
  readonly known: Readonly<Record<string, readonly JsonValue[]>>;
}

/**
 * Make a value that a JSON schema describes, strange in some of its parts.
 *
 * @param schema A schema of draft 2020-12, as far as this project writes them.
 * @param means Chance, and what is known of names.
 * @param depth How deep the value lies in the whole.
 */
export function valueOf(
  schema: JsonValue | undefined,
  means: ValueMeans,
  depth = 0,
): JsonValue {
  const { entropy } = means;
  if (below(entropy, ODDS) === 0 || depth > DEEPEST || !isJsonObject(schema)) {
    return pick(entropy, STRANGE) ?? null;
  }
  const { allOf, anyOf, oneOf, type } = schema;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return pick(entropy, schema.enum) ?? null;
  if (Array.isArray(allOf)) {
    return Object.assign(
      {},
      ...allOf.map((one) => valueOf(one, means, depth)),
    );
  }
  const choices = anyOf ?? oneOf;
  if (Array.isArray(choices)) {
    return valueOf(pick(entropy, choices), means, depth + 1);
  }
  const kind = Array.isArray(type) ? pick(entropy, type) : type;
  switch (kind) {
    case "object":
      return objectOf(schema, means, depth);
    case "array":
      return Array.from(
        { length: Number(schema.minItems ?? 0) + below(entropy, 4) },
        () => valueOf(schema.items ?? {}, means, depth + 1),
      );
    case "string":
      return pick(entropy, WORDS) ?? "";
    case "integer":
      return Math.max(Number(schema.minimum ?? 0), 0) + below(entropy, 40);
    case "number":
      return entropy.float() * 2;
    case "boolean":
      return below(entropy, 2) === 0;
    case "null":
      return null;
    default:
      return pick(entropy, STRANGE) ?? null;
  }
}

function objectOf(
  { properties, required }: JsonObject,
  means: ValueMeans,
  depth: number,
): JsonObject {
  const { entropy, known } = means;
  const made: Record<string, JsonValue> = {};
  const needed = Array.isArray(required) ? required : [];
  const described = isJsonObject(properties) ? properties : {};
  for (const [name, schema] of Object.entries(described)) {
    if (!needed.includes(name) && below(entropy, 3) > 0) continue;
    const usual = known[name];
    made[name] = usual !== undefined && below(entropy, 10) > 0
      ? pick(entropy, usual) ?? null
      : valueOf(schema, means, depth + 1);
  }
  // What no schema names passes on to engines, or has to be refused by name.
  if (below(entropy, 12) === 0) {
    const name = pick(entropy, ["extra", "__proto__", "toString", "a b", ""]);
    made[name ?? ""] = pick(entropy, STRANGE) ?? null;
  }
  return made;
}

/** A whole number from 0 up to a limit. */
export function below(entropy: Entropy, limit: number): number {
  return Math.floor(entropy.float() * limit);
}

/** One of a list. */
export function pick<One>(
  entropy: Entropy,
  list: readonly One[],
): One | undefined {
  return list[below(entropy, list.length)];
}
