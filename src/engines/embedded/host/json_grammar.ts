import type { JsonValue } from "../../../domain/mod.ts";
import { JSON_RULES } from "./gbnf.ts";
import { addSchemaRules, type SchemaForce } from "./schema_rules.ts";

/**
 * Collects GBNF rules (llama.cpp's grammar language) for JSON that satisfies
 * schemas. node-llama-cpp's own builder knows neither optional properties nor
 * `anyOf`, `$ref` into the document or bounds of numbers, which callers use
 * every day. JSON is written on one line; where a schema leaves room, the
 * grammar may be narrower than it, never wider.
 */
export class JsonGrammar {
  readonly #rules = new Map<string, string>(JSON_RULES);

  /**
   * Add a schema.
   *
   * @param schema A JSON Schema.
   * @param param Name of the field it came in, for errors.
   * @param force What its author wants it to be; binding unless said.
   * @returns Name of the rule for values that satisfy it.
   * @throws {RequestError} When it is binding, and too large or not to be expressed; it names the keyword then.
   */
  addSchema(
    schema: JsonValue | undefined,
    param: string,
    force: SchemaForce = "binding",
  ): string {
    return addSchemaRules(this.#rules, schema ?? {}, param, force);
  }

  /** Rule for any JSON object. */
  get anyObject(): string {
    return "jobject";
  }

  /**
   * Write the grammar down.
   *
   * @param root Expression of the root rule.
   * @returns GBNF.
   */
  text(root: string): string {
    const rules = [...this.#rules].map(([name, body]) => `${name} ::= ${body}`);
    return [`root ::= ${root}`, ...rules].join("\n");
  }
}
