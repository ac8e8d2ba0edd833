import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../src/domain/mod.ts";
import { buildConstraint } from "../../src/engines/embedded/host/constraint.ts";
import { DEFAULT_FORM } from "../../src/engines/embedded/host/call_form.ts";
import { JsonGrammar } from "../../src/engines/embedded/host/json_grammar.ts";
import {
  integerExpression,
  numberExpression,
} from "../../src/engines/embedded/host/number_grammar.ts";
import { RequestError } from "../../src/engines/embedded/host/request_error.ts";
import {
  type GrammarMatchers,
  loadGrammarMatchers,
} from "../fakes/grammar_matchers.ts";

let matchers: GrammarMatchers;

Deno.test.beforeAll(async () => {
  matchers = await loadGrammarMatchers();
});

Deno.test.afterAll(async () => await matchers[Symbol.asyncDispose]());

async function schemaMatcher(
  schema: JsonObject,
): Promise<(text: string) => boolean> {
  const grammar = new JsonGrammar();
  const rule = grammar.addSchema(schema, "schema");
  return await matchers.of(grammar.text(rule));
}

const PERSON: JsonObject = {
  type: "object",
  properties: {
    name: { type: "string", maxLength: 4 },
    age: { type: "integer", minimum: 0, maximum: 150 },
    tags: { type: "array", items: { enum: ["a", "b"] }, maxItems: 2 },
  },
  required: ["age"],
};
const TREE: JsonObject = {
  $ref: "#/$defs/node",
  $defs: {
    node: {
      type: "object",
      properties: {
        value: { type: ["integer", "null"] },
        next: { $ref: "#/$defs/node" },
      },
      required: ["value"],
    },
  },
};

const CASES: readonly {
  readonly schema: JsonObject;
  readonly yes: readonly JsonValue[];
  readonly no: readonly string[];
}[] = [
  {
    schema: PERSON,
    yes: [
      { age: 0 },
      { name: "Ada", age: 36 },
      { age: 150, tags: ["a", "b"] },
      { name: "", age: 7, tags: [] },
    ],
    no: [
      "{}",
      '{"name":"Ada"}',
      '{"age":151}',
      '{"age":-1}',
      '{"age":07}',
      '{"name":"Adele","age":1}',
      '{"age":1,"tags":["a","a","a"]}',
      '{"age":1,"more":1}',
      '{"age":1,}',
      '{"age":1',
    ],
  },
  {
    schema: TREE,
    yes: [{ value: 1 }, { value: null, next: { value: -2 } }],
    no: ['{"next":{"value":1}}', '{"value":"1"}'],
  },
  {
    schema: { anyOf: [{ type: "boolean" }, { const: { a: [1] } }] },
    yes: [true, false, { a: [1] }],
    no: ["null", '{"a":[2]}'],
  },
  {
    schema: { type: "object", additionalProperties: { type: "number" } },
    yes: [{}, { x: 1.5, y: -2 }],
    no: ['{"x":"1"}', "[]"],
  },
  {
    schema: {
      type: "array",
      prefixItems: [{ type: "string" }, { type: "null" }],
    },
    yes: [['"\\\n\u00e9\u{1F642}', null]],
    no: ["[]", '["a"]', '["a",null,1]'],
  },
  {
    schema: { type: "string", format: "date" },
    yes: ["2026-11-28"],
    no: ['"2026-13-01"', '"today"'],
  },
  { schema: {}, yes: [1, "a", null, [{}], { a: { b: [] } }], no: ["", "{"] },
  {
    schema: { allOf: [{ type: "null" }], description: "ignored", $id: "x" },
    yes: [null],
    no: ["1"],
  },
  {
    schema: {
      type: "object",
      propertyNames: { type: "string" },
      additionalProperties: { type: "null" },
    },
    yes: [{}, { a: null }],
    no: ['{"a":1}'],
  },
  {
    schema: { type: "string", maxLength: 2000 },
    yes: ["", "a".repeat(1999)],
    no: [JSON.stringify("a".repeat(2001))],
  },
  {
    schema: { type: "string", minLength: 5, maxLength: 9_000 },
    yes: ["a".repeat(5), "a".repeat(8_000)],
    no: ['"aaaa"', JSON.stringify("a".repeat(9_001))],
  },
  {
    schema: { type: "array", items: { const: 1 }, maxItems: 10_000 },
    yes: [[], Array(2000).fill(1)],
    no: ["[2]"],
  },
];

Deno.test("JsonGrammar accepts what satisfies a schema and nothing else", async () => {
  for (const { schema, yes, no } of CASES) {
    const matches = await schemaMatcher(schema);
    for (const value of yes) {
      const text = JSON.stringify(value);
      assert.ok(matches(text), `${JSON.stringify(schema)} refuses ${text}`);
    }
    for (const text of no) {
      assert.ok(!matches(text), `${JSON.stringify(schema)} takes ${text}`);
    }
  }
});

Deno.test("JsonGrammar refuses by name what it can not express", () => {
  const hostile: readonly (readonly [JsonObject, RegExp])[] = [
    [{ type: "string", pattern: "^a" }, /"pattern"/],
    [{ not: { type: "null" } }, /"not"/],
    [{ allOf: [{}, {}] }, /"allOf"/],
    [{ type: "number", minimum: 0.5 }, /"minimum"/],
    [{ type: "number", exclusiveMinimum: 0 }, /exclusiveMinimum/],
    [{ type: "integer", minimum: 3, maximum: 2 }, /no number/],
    [{ type: "array", uniqueItems: true }, /"uniqueItems"/],
    [{ type: "string", minLength: 2_000 }, /"minLength"/],
    [{ type: "array", minItems: 2, maxItems: 1 }, /"maxItems"/],
    [{ propertyNames: { type: "string", maxLength: 3 } }, /"propertyNames"/],
    [{ anyOf: [{}], properties: {} }, /"anyOf" beside "properties"/],
    [{ type: "decimal" }, /"decimal"/],
    [{ $ref: "https://example.org/x" }, /"\$ref"/],
    [{ $ref: "#/$defs/missing" }, /nowhere/],
    [{ $ref: "#/__proto__" }, /nowhere/],
    [{ $ref: "#/%zz" }, /nowhere/],
    [{ $ref: "#/properties/field" }, /says nothing else/],
    [{ anyOf: [{ $ref: "#/properties/field" }] }, /says nothing else/],
    [{ type: "object", required: ["x"] }, /"required"/],
    [{ enum: [] }, /"enum"/],
    [{ anyOf: [] }, /"anyOf"/],
  ];
  for (const [schema, reason] of hostile) {
    assert.throws(
      () =>
        new JsonGrammar().addSchema({
          type: "object",
          properties: { field: schema },
        }, "schema"),
      (problem) => {
        assert.ok(problem instanceof RequestError);
        assert.equal(problem.status, 400);
        assert.match(problem.message, reason);
        return true;
      },
    );
  }
});

Deno.test("JsonGrammar refuses a schema that goes on and on, also by references", () => {
  const $defs: Record<string, JsonValue> = { d5000: { type: "null" } };
  for (let at = 0; at < 5000; at++) {
    $defs[`d${at}`] = { type: "array", items: { $ref: `#/$defs/d${at + 1}` } };
  }
  assert.throws(
    () => new JsonGrammar().addSchema({ $defs, $ref: "#/$defs/d0" }, "schema"),
    /RequestError: The schema in "schema" is too large: .* schemas deep/,
  );
});

Deno.test("integerExpression holds whole numbers to their bounds", async () => {
  const bound = fc.option(fc.integer({ min: -2000, max: 2000 }));
  await fc.assert(
    fc.asyncProperty(
      bound,
      bound,
      fc.array(fc.integer({ min: -3000, max: 3000 }), { maxLength: 20 }),
      async (min, max, values) => {
        const expression = integerExpression({ min, max });
        if (expression === null) {
          assert.ok(min !== null && max !== null && min > max);
          return;
        }
        const matches = await matchers.of(`root ::= ${expression}`);
        const edges = [min, max].flatMap((edge) =>
          edge === null ? [] : [edge - 1, edge, edge + 1]
        );
        for (const value of [...values, ...edges, 0]) {
          const inside = (min ?? -Infinity) <= value &&
            value <= (max ?? Infinity);
          assert.equal(matches(String(value)), inside, `${value} as integer`);
        }
      },
    ),
    { numRuns: 100 },
  );
});

Deno.test("numberExpression holds fractions to their bounds", async () => {
  const bound = fc.option(fc.integer({ min: -30, max: 30 }));
  await fc.assert(
    fc.asyncProperty(
      bound,
      bound,
      fc.array(fc.integer({ min: -4000, max: 4000 }), { maxLength: 20 }),
      async (min, max, hundredths) => {
        const expression = numberExpression({ min, max });
        if (expression === null) return;
        const matches = await matchers.of(`root ::= ${expression}`);
        for (const one of hundredths) {
          const value = one / 100;
          const inside = (min ?? -Infinity) <= value &&
            value <= (max ?? Infinity);
          assert.equal(matches(String(value)), inside, `${value} as number`);
        }
      },
    ),
    { numRuns: 100 },
  );
});

Deno.test("buildConstraint demands one call of a named tool with fitting arguments", async () => {
  const base = { isStrict: false, source: {} };
  const tool = { ...base, name: "look", parameters: PERSON };
  const bare = { ...base, name: "ping", parameters: null };
  const rule = { mustCall: true, parallel: false, form: DEFAULT_FORM };
  const one = buildConstraint({ kind: "text" }, {
    ...rule,
    tools: [tool, bare],
  });
  assert.ok(one.kind === "grammar");
  const matches = await matchers.of(one.text);
  const call = (name: string, args: string) =>
    `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;
  assert.ok(matches(call("look", '{"age": 3}')));
  assert.ok(matches(call("ping", '{"x": [1]}')));
  assert.ok(!matches(call("look", '{"age": 151}')));
  assert.ok(!matches(call("other", "{}")));
  assert.ok(!matches(`${call("ping", "{}")}\n${call("ping", "{}")}`));
  const many = buildConstraint({ kind: "text" }, {
    ...rule,
    parallel: true,
    tools: [bare],
  });
  assert.ok(many.kind === "grammar");
  const matchesMany = await matchers.of(many.text);
  assert.ok(matchesMany(`${call("ping", "{}")}\n${call("ping", "{}")}`));
});

Deno.test("buildConstraint leaves plain text alone until the model begins a call", async () => {
  const lazy = buildConstraint({ kind: "text" }, {
    mustCall: false,
    parallel: false,
    form: DEFAULT_FORM,
    tools: [{ name: "ping", parameters: null, isStrict: false, source: {} }],
  });
  assert.ok(lazy.kind === "lazy");
  assert.equal(lazy.marker, "<tool_call>");
  const grammar = lazy.grammarAfter('\n{"na');
  assert.ok(grammar !== null);
  const matches = await matchers.of(grammar);
  assert.ok(matches('me": "ping", "arguments": {}}\n</tool_call>'));
  assert.ok(!matches('\n{"name": "ping", "arguments": {}}\n</tool_call>'));
  assert.equal(lazy.grammarAfter("\n\n{"), null);
});
