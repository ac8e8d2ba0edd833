import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../src/domain/mod.ts";
import { DEFAULT_FORM } from "../../src/engines/embedded/host/call_form.ts";
import { parseChatRequest } from "../../src/engines/embedded/host/chat_request.ts";
import { buildConstraint } from "../../src/engines/embedded/host/constraint.ts";
import { JsonGrammar } from "../../src/engines/embedded/host/json_grammar.ts";
import {
  type GrammarMatchers,
  loadGrammarMatchers,
} from "../fakes/grammar_matchers.ts";

let matchers: GrammarMatchers;

Deno.test.beforeAll(async () => {
  matchers = await loadGrammarMatchers();
});

Deno.test.afterAll(async () => await matchers[Symbol.asyncDispose]());

async function guidedMatcher(
  schema: JsonValue,
): Promise<(text: string) => boolean> {
  const grammar = new JsonGrammar();
  const rule = grammar.addSchema(schema, "schema", "guiding");
  return await matchers.of(grammar.text(rule));
}

/** Schemas as coding programs send them, with what is left of each. */
const CASES: readonly {
  readonly schema: JsonObject;
  readonly yes: readonly JsonValue[];
  readonly no: readonly JsonValue[];
}[] = [
  {
    schema: {
      type: "object",
      properties: {
        id: { type: "string", pattern: "^[a-z]+$" },
        share: { type: "number", exclusiveMinimum: 0, maximum: 0.5 },
        names: { type: "array", items: { enum: ["a"] }, uniqueItems: true },
      },
      required: ["id", "gone"],
      anyOf: [{ required: ["id"] }, { required: ["share"] }],
    },
    yes: [{ id: "7" }, { id: "", share: -2.5, names: ["a", "a"] }],
    no: [{}, { share: 1 }, { id: 7 }, { id: "a", names: ["b"] }],
  },
  {
    schema: {
      type: "object",
      properties: { map: { type: "object", propertyNames: { minLength: 1 } } },
      required: ["map"],
      additionalProperties: false,
    },
    yes: [{ map: {} }, { map: { a: 1 } }],
    no: [{ map: 1 }, {}],
  },
  { schema: { not: { type: "null" } }, yes: [1, null], no: [] },
  { schema: { allOf: [{ type: "string" }, {}] }, yes: ["a", 1], no: [] },
  { schema: { $ref: "https://example.org/x" }, yes: [{ a: [] }], no: [] },
  { schema: { $ref: "#" }, yes: [{ a: [] }], no: [] },
  {
    schema: {
      oneOf: [{ $ref: "#" }, { type: "array", items: { $ref: "#" } }],
      minProperties: 1,
    },
    yes: [[[7]]],
    no: [],
  },
  {
    schema: { type: ["string", "date"], minLength: 9999 },
    yes: ["a"],
    no: [1],
  },
];

Deno.test("JsonGrammar holds a call to as much of a guiding schema as it can", async () => {
  for (const { schema, yes, no } of CASES) {
    const matches = await guidedMatcher(schema);
    for (const value of yes) {
      const text = JSON.stringify(value);
      assert.ok(matches(text), `${JSON.stringify(schema)} refuses ${text}`);
    }
    for (const value of no) {
      const text = JSON.stringify(value);
      assert.ok(!matches(text), `${JSON.stringify(schema)} takes ${text}`);
    }
  }
});

const { schema: anySchema } = fc.letrec<{ schema: JsonValue }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonValue>(true, false, null, 7, "x", [], {}),
    fc.dictionary(
      fc.constantFrom(
        "not",
        "items",
        "allOf",
        "anyOf",
        "oneOf",
        "propertyNames",
        "additionalProperties",
        "a",
      ),
      fc.oneof(tie("schema"), fc.array(tie("schema"), { maxLength: 3 })),
      { maxKeys: 3 },
    ),
    fc.record({
      $ref: fc.constantFrom("#", "#/properties/a", "#/items", "#/anyOf/0"),
      anyOf: fc.array(tie("schema"), { maxLength: 2 }),
    }, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>,
    fc.record({
      type: fc.constantFrom<JsonValue>(
        "object",
        "array",
        "string",
        "number",
        "date",
        [],
        ["string", 1],
      ),
      properties: fc.dictionary(fc.string(), tie("schema"), { maxKeys: 3 }),
      required: fc.array(fc.oneof(fc.string(), fc.integer())),
      items: tie("schema"),
      enum: fc.array(fc.jsonValue() as fc.Arbitrary<JsonValue>),
      $ref: fc.constantFrom("#", "#/properties/a", "#/items", "x", "#/~2"),
      minLength: fc.oneof(fc.double(), fc.nat(3000)),
      maxLength: fc.oneof(fc.nat(), fc.nat(3000)),
      minItems: fc.nat(3000),
      maxItems: fc.nat(5000),
      pattern: fc.string(),
    }, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>,
  ),
}));

Deno.test("JsonGrammar makes a grammar that llama.cpp reads of whatever is to guide a call", async () => {
  await fc.assert(
    fc.asyncProperty(anySchema, async (schema) => {
      await guidedMatcher(schema);
    }),
    { numRuns: 300 },
  );
});

Deno.test("JsonGrammar leaves a tool open whose schema is too large to guide", async () => {
  const properties: Record<string, JsonValue> = {};
  for (let at = 0; at < 1500; at++) properties[`p${at}`] = { type: "boolean" };
  const large: JsonObject = { type: "object", properties };
  const matches = await guidedMatcher(large);
  assert.ok(matches('{"p1": 7}'));
  assert.ok(!matches("7"));
  assert.throws(
    () => new JsonGrammar().addSchema(large, "schema"),
    /too large/,
  );
});

Deno.test("buildConstraint refuses what it can not hold a call to only where the tool is strict", () => {
  const parameters = {
    type: "object",
    properties: { id: { type: "string", pattern: "^a" } },
  };
  const build = (strict: JsonObject) => {
    const { format, tools } = parseChatRequest({
      messages: [{ role: "user", content: "Hello" }],
      tools: [{
        type: "function",
        function: { name: "look", parameters, ...strict },
      }],
    });
    assert.ok(tools !== null);
    return buildConstraint(format, { ...tools, form: DEFAULT_FORM });
  };
  for (const strict of [{}, { strict: false }, { strict: null }]) {
    assert.equal(build(strict).kind, "lazy");
  }
  assert.throws(
    () => build({ strict: true }),
    /"tools.look.parameters.properties.id".*"pattern"/,
  );
});
