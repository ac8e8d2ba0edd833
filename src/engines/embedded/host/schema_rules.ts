import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../domain/mod.ts";
import { BLOCK_RULE, boundedText, MOST_REPEATED } from "./bounded_text.ts";
import { literal } from "./gbnf.ts";
import { integerExpression, numberExpression } from "./number_grammar.ts";
import { RequestError } from "./request_error.ts";
import { gistOf } from "./schema_gist.ts";
import { inexpressibleIn } from "./schema_limits.ts";

const MAX_RULES = 2000;
/** Schemas within schemas, also by way of references; nobody writes half as many. */
const MAX_DEPTH = 200;

/** Formats whose text a grammar can hold to; others are annotations. */
const FORMATS: Readonly<Record<string, string>> = {
  date:
    `[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8])`,
  time: `([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] "Z"`,
  uuid:
    `[0-9a-f]{8} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{12}`,
};

/** What a schema's author wants it to be. */
export type SchemaForce =
  /** Every answer satisfies it: what can not be expressed is refused. */
  | "binding"
  /** It guides the model: what can not be expressed is left open. */
  | "guiding";

/** A part of a schema that no grammar can hold an answer to. */
class InexpressibleError extends RequestError {}

/** A schema that would keep the engine busy for nobody. */
class TooLargeError extends RequestError {}

/**
 * Add the rules of a schema.
 *
 * @param rules Rules so far, by name; more are added.
 * @param schema A JSON Schema.
 * @param param Name of the field it came in, for errors.
 * @param force What its author wants it to be.
 * @returns Name of the rule for values that satisfy it.
 * @throws {RequestError} When it is binding, and too large or not to be expressed; it names the keyword then.
 */
export function addSchemaRules(
  rules: Map<string, string>,
  schema: JsonValue,
  param: string,
  force: SchemaForce,
): string {
  const before = rules.size;
  try {
    return new SchemaVisitor(rules, schema, param, force).rule(schema, param);
  } catch (error) {
    const isOpen = force === "guiding" && error instanceof TooLargeError;
    if (!isOpen) throw error;
    for (const name of [...rules.keys()].slice(before)) rules.delete(name);
    return isJsonObject(schema) && schema.type === "object"
      ? "jobject"
      : "jvalue";
  }
}

/** Turns one document's schemas into rules; references make it recursive. */
class SchemaVisitor {
  readonly #rules: Map<string, string>;
  readonly #document: JsonValue;
  readonly #param: string;
  readonly #force: SchemaForce;
  readonly #references = new Map<string, string>();
  /** References that lead to where the visit is without a bracket between. */
  #leading: ReadonlySet<string> = new Set();
  #depth = 0;

  constructor(
    rules: Map<string, string>,
    document: JsonValue,
    param: string,
    force: SchemaForce,
  ) {
    this.#rules = rules;
    this.#document = document;
    this.#param = param;
    this.#force = force;
  }

  #add(expression: string): string {
    const name = this.#reserve();
    this.#rules.set(name, expression);
    return name;
  }

  #reserve(): string {
    if (this.#rules.size >= MAX_RULES) {
      throw this.#tooLarge(`it needs more than ${MAX_RULES} grammar rules`);
    }
    const name = `r${this.#rules.size}`;
    this.#rules.set(name, `""`);
    return name;
  }

  #tooLarge(why: string): Error {
    return new TooLargeError(
      400,
      `The schema in "${this.#param}" is too large: ${why}`,
      { param: this.#param },
    );
  }

  #refuse(path: string, what: string): Error {
    return new InexpressibleError(
      400,
      `The schema at "${path}" can not be turned into a grammar: ${what}`,
      { param: path },
    );
  }

  rule(schema: JsonValue, path: string): string {
    if (this.#depth >= MAX_DEPTH) {
      throw this.#tooLarge(`it goes more than ${MAX_DEPTH} schemas deep`);
    }
    this.#depth++;
    try {
      return this.#exactRule(schema, path);
    } catch (error) {
      const isOpen = this.#force === "guiding" &&
        error instanceof InexpressibleError;
      if (!isOpen) throw error;
      return this.#exactRule(isJsonObject(schema) ? gistOf(schema) : {}, path);
    } finally {
      this.#depth--;
    }
  }

  #exactRule(schema: JsonValue, path: string): string {
    if (schema === true) return "jvalue";
    if (!isJsonObject(schema)) {
      throw this.#refuse(path, "it is not an object that can be satisfied");
    }
    const problem = inexpressibleIn(schema);
    if (problem !== null) throw this.#refuse(path, problem);
    const { $ref, allOf } = schema;
    if ($ref !== undefined) return this.#reference($ref, path);
    if (allOf !== undefined) {
      if (!Array.isArray(allOf) || allOf.length !== 1) {
        throw this.#refuse(path, `"allOf" of more than one is not supported`);
      }
      return this.rule(allOf[0] ?? {}, `${path}.allOf.0`);
    }
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(alternatives)) {
      const names = alternatives.map((one, at) =>
        this.rule(one, `${path}.anyOf.${at}`)
      );
      if (names.length === 0) throw this.#refuse(path, `"anyOf" is empty`);
      return this.#add(names.join(" | "));
    }
    if (schema.const !== undefined) {
      return this.#add(literal(JSON.stringify(schema.const)));
    }
    if (schema.enum !== undefined) return this.#enumeration(schema.enum, path);
    return this.#typed(schema, path);
  }

  #enumeration(values: JsonValue, path: string): string {
    if (!Array.isArray(values) || values.length === 0) {
      throw this.#refuse(path, `"enum" is no list of values`);
    }
    return this.#add(
      values.map((value) => literal(JSON.stringify(value))).join(" | "),
    );
  }

  #reference(reference: JsonValue, path: string): string {
    if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) {
      throw this.#refuse(path, `"$ref" must point into the same schema`);
    }
    if (this.#leading.has(reference)) {
      throw this.#refuse(path, `"$ref" to "${reference}" says nothing else`);
    }
    const known = this.#references.get(reference);
    if (known !== undefined) return known;
    let target: JsonValue | undefined = this.#document;
    for (const step of reference.split("/").slice(1)) {
      const key = unescaped(step)
        .replaceAll("~1", "/")
        .replaceAll("~0", "~");
      if (Array.isArray(target)) target = target[Number(key)];
      else if (isJsonObject(target) && Object.hasOwn(target, key)) {
        target = target[key];
      } else target = undefined;
    }
    if (target === undefined) {
      throw this.#refuse(path, `"$ref" to "${reference}" points nowhere`);
    }
    const name = this.#reserve();
    this.#references.set(reference, name);
    const leading = new Set([...this.#leading, reference]);
    this.#rules.set(name, this.#led(leading, target, `${path}.$ref`));
    return name;
  }

  /** The rule of what stands within brackets. */
  #within(schema: JsonValue, path: string): string {
    return this.#led(new Set(), schema, path);
  }

  #led(
    leading: ReadonlySet<string>,
    schema: JsonValue,
    path: string,
  ): string {
    const before = this.#leading;
    this.#leading = leading;
    try {
      return this.rule(schema, path);
    } finally {
      this.#leading = before;
    }
  }

  #typed(schema: JsonObject, path: string): string {
    const type = schema.type ?? impliedType(schema);
    if (Array.isArray(type)) {
      const names = type.map((one) =>
        this.#typed({ ...schema, type: one }, path)
      );
      if (names.length === 0) throw this.#refuse(path, `"type" is empty`);
      return this.#add(names.join(" | "));
    }
    switch (type) {
      case undefined:
        return "jvalue";
      case "object":
        return this.#object(schema, path);
      case "array":
        return this.#array(schema, path);
      case "string":
        return this.#string(schema, path);
      case "integer":
      case "number":
        return this.#number(schema, type, path);
      case "boolean":
        return this.#add(`"true" | "false"`);
      case "null":
        return this.#add(`"null"`);
      default:
        throw this.#refuse(path, `type ${JSON.stringify(type)} is unknown`);
    }
  }

  #bound(schema: JsonObject, key: string, path: string): number | null {
    const value = schema[key];
    if (value === undefined) return null;
    if (typeof value !== "number" || !Number.isInteger(value)) {
      throw this.#refuse(
        path,
        `"${key}" is supported for whole numbers only`,
      );
    }
    // JavaScript's schema builders bound every integer like this.
    return Math.abs(value) >= Number.MAX_SAFE_INTEGER ? null : value;
  }

  #least(schema: JsonObject, key: string, path: string): number {
    const value = this.#bound(schema, key, path) ?? 0;
    if (value >= 0 && value <= MOST_REPEATED) return value;
    throw this.#refuse(path, `"${key}" must be 0 to ${MOST_REPEATED}`);
  }

  #most(
    schema: JsonObject,
    key: string,
    path: string,
    least: number,
  ): number | null {
    const value = this.#bound(schema, key, path);
    if (value === null || value >= least) return value;
    throw this.#refuse(path, `"${key}" is below ${least}, the least there is`);
  }

  #number(
    schema: JsonObject,
    type: "integer" | "number",
    path: string,
  ): string {
    let min = this.#bound(schema, "minimum", path);
    let max = this.#bound(schema, "maximum", path);
    const above = this.#bound(schema, "exclusiveMinimum", path);
    const below = this.#bound(schema, "exclusiveMaximum", path);
    if ((above !== null || below !== null) && type === "number") {
      throw this.#refuse(
        path,
        `"exclusiveMinimum" and "exclusiveMaximum" are supported for integers only`,
      );
    }
    if (above !== null) min = Math.max(min ?? above + 1, above + 1);
    if (below !== null) max = Math.min(max ?? below - 1, below - 1);
    const expression = type === "integer"
      ? integerExpression({ min, max })
      : numberExpression({ min, max });
    if (expression === null) {
      throw this.#refuse(path, "no number satisfies its bounds");
    }
    return this.#add(expression);
  }

  #string(schema: JsonObject, path: string): string {
    const { format } = schema;
    if (format === "date-time") {
      return this.#add(
        `"\\"" ${FORMATS.date} "T" ${FORMATS.time} "\\""`,
      );
    }
    const known = typeof format === "string" ? FORMATS[format] : undefined;
    if (known !== undefined) return this.#add(`"\\"" ${known} "\\""`);
    const least = this.#least(schema, "minLength", path);
    const most = this.#most(schema, "maxLength", path, least);
    if (least === 0 && most === null) return "jstring";
    if ((most ?? 0) > MOST_REPEATED) this.#rules.set(...BLOCK_RULE);
    return this.#add(`"\\"" ${boundedText(least, most)} "\\""`);
  }

  #array(schema: JsonObject, path: string): string {
    const { prefixItems } = schema;
    if (prefixItems !== undefined) {
      if (!Array.isArray(prefixItems) || prefixItems.length === 0) {
        throw this.#refuse(path, `"prefixItems" is no list of schemas`);
      }
      const names = prefixItems.map((item, at) =>
        this.#within(item, `${path}.prefixItems.${at}`)
      );
      return this.#add(`"[" ${names.join(' "," jws ')} "]"`);
    }
    const least = this.#least(schema, "minItems", path);
    const most = this.#most(schema, "maxItems", path, least);
    if (most === 0) return this.#add(`"[" "]"`);
    const item = this.#within(schema.items ?? {}, `${path}.items`);
    // A longer list than can be counted is shorter than it might be.
    const further = most === null ? "" : Math.min(most - 1, MOST_REPEATED);
    const some = this.#add(
      `${item} ("," jws ${item}){${Math.max(0, least - 1)},${further}}`,
    );
    return this.#add(`"[" ${some}${least === 0 ? "?" : ""} "]"`);
  }

  #object(schema: JsonObject, path: string): string {
    const properties = isJsonObject(schema.properties) ? schema.properties : {};
    const required = Array.isArray(schema.required) ? schema.required : [];
    const names = Object.keys(properties);
    for (const name of required) {
      if (typeof name !== "string" || !Object.hasOwn(properties, name)) {
        throw this.#refuse(
          path,
          `"required" names ${
            JSON.stringify(name)
          }, which is not in "properties"`,
        );
      }
    }
    if (names.length === 0) return this.#map(schema, path);
    const members = names.map((name) => {
      const value = this.#within(
        properties[name] ?? {},
        `${path}.properties.${name}`,
      );
      return this.#add(`${literal(`${JSON.stringify(name)}:`)} jws ${value}`);
    });
    // From the last property to the first: what may follow once a property has
    // been written, and what may follow while none has.
    let behindOne = `""`;
    let behindNone = `""`;
    for (let at = names.length - 1; at >= 0; at--) {
      const member = members[at] ?? "";
      const isRequired = required.includes(names[at] ?? "");
      const laterOne = behindOne;
      const written = `"," jws ${member} ${laterOne}`;
      const begun = `${member} ${laterOne}`;
      behindOne = this.#add(isRequired ? written : `${written} | ${laterOne}`);
      behindNone = this.#add(isRequired ? begun : `${begun} | ${behindNone}`);
    }
    return this.#add(`"{" ${behindNone} "}"`);
  }

  #map(schema: JsonObject, path: string): string {
    const extra = schema.additionalProperties;
    if (extra === false) return this.#add(`"{" "}"`);
    if (!isJsonObject(extra)) return "jobject";
    const value = this.#within(extra, `${path}.additionalProperties`);
    const member = this.#add(`jstring ":" jws ${value}`);
    return this.#add(`"{" (${member} ("," jws ${member})*)? "}"`);
  }
}

/** A step of a pointer within a URI; what no URI holds stands for itself. */
function unescaped(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch (error) {
    if (error instanceof URIError) return step;
    throw error;
  }
}

function impliedType(schema: JsonObject): string | undefined {
  if (schema.properties !== undefined || schema.required !== undefined) {
    return "object";
  }
  if (schema.items !== undefined || schema.prefixItems !== undefined) {
    return "array";
  }
  return undefined;
}
