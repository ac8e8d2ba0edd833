import assert from "node:assert/strict";
import fc from "fast-check";
import { z } from "zod";
import type { JsonValue } from "../../src/domain/mod.ts";
import { sampleOf } from "../../src/engines/simulated/schema_sample.ts";

const FOUND: readonly (readonly [JsonValue, JsonValue])[] = [
  [{ type: "boolean" }, false],
  [{ const: 7 }, 7],
  [{ enum: ["yes", "no"] }, "yes"],
  [{ type: ["string", "null"] }, "text"],
  [{ type: "string", minLength: 6 }, "textxx"],
  [{ type: "string", format: "date" }, "2000-01-01"],
  [{ type: "integer", exclusiveMinimum: 3 }, 4],
  [{ type: "number", minimum: 0.5, maximum: 0.6 }, 0.5],
  [{ type: "integer", maximum: -2 }, -2],
  [{ type: "integer", minimum: 5, multipleOf: 4 }, 8],
  [{ type: "array", items: { type: "null" }, minItems: 2 }, [null, null]],
  [{ type: "array", prefixItems: [{ const: 1 }], minItems: 1 }, [1]],
  [{ anyOf: [{ const: "a" }, { const: "b" }] }, "a"],
  [{
    properties: { a: { type: "null" }, b: { type: "null" } },
    required: ["b"],
  }, { b: null }],
  [{
    allOf: [
      { properties: { a: { minimum: 2 } }, required: ["a"] },
      { properties: { a: { type: "integer" } }, type: "object" },
    ],
  }, { a: 2 }],
  [{ $ref: "#/$defs/on~1off", $defs: { "on/off": { const: true } } }, true],
];

Deno.test("sampleOf gives the plainest value of a schema", () => {
  for (const [schema, value] of FOUND) {
    assert.deepEqual(sampleOf(schema), { kind: "sample", value });
  }
});

Deno.test("sampleOf makes a property of a name that objects have of themselves", () => {
  const found = sampleOf({
    type: "object",
    properties: { ["__proto__"]: { const: 1 } },
    required: ["__proto__", "toString"],
  });
  assert(found.kind === "sample");
  assert.equal(JSON.stringify(found.value), '{"__proto__":1,"toString":{}}');
});

const NONE: readonly (readonly [JsonValue, string, RegExp])[] = [
  [false, "#", /no object/],
  [{ type: "string", pattern: "^a" }, "#", /"pattern"/],
  [{ type: "colour" }, "#", /"colour"/],
  [{ enum: [] }, "#/enum", /nothing/],
  [
    { type: "integer", minimum: 1, exclusiveMaximum: 2, multipleOf: 3 },
    "#",
    /bounds/,
  ],
  [{ $ref: "https://example.org/schema" }, "#", /elsewhere/],
  [{ $ref: "#/$defs/gone" }, "#", /nowhere/],
  [{ $ref: "#" }, "#", /deeper than 32/],
  [{ type: "array", minItems: 1e9 }, "#", /more than 2000/],
  [{ type: "string", minLength: 1e9 }, "#", /characters/],
  [{ allOf: [{ minimum: 1 }, { minimum: 2 }] }, "#/allOf", /two "minimum"/],
  [
    { properties: { a: false }, required: ["a"] },
    "#/properties/a",
    /no object/,
  ],
];

Deno.test("sampleOf says where a schema has no value that can be simulated", () => {
  for (const [schema, path, why] of NONE) {
    const found = sampleOf(schema);
    assert(found.kind === "none", JSON.stringify(schema));
    assert.equal(found.path, path);
    assert.match(found.why, why);
  }
});

const leaf = fc.oneof(
  fc.constant(() => z.boolean()),
  fc.constant(() => z.null()),
  fc.tuple(fc.integer({ min: -50, max: 50 }), fc.nat(9)).map(
    ([least, more]) => () => z.number().min(least).max(least + more),
  ),
  fc.tuple(fc.integer({ min: -50, max: 50 }), fc.nat(9)).map(
    ([least, more]) => () => z.int().min(least).max(least + more),
  ),
  fc.tuple(fc.nat(9), fc.nat(9)).map(([least, more]) => () =>
    z.string().min(least).max(least + more)
  ),
  fc.constantFrom("a", "b").map((one) => () => z.enum([one, "c"])),
);

const { schema } = fc.letrec<{ schema: () => z.ZodType }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.tuple(tie("schema"), fc.nat(3)).map(([item, least]) => () =>
      z.array(item()).min(least)
    ),
    fc.dictionary(fc.string(), tie("schema"), { maxKeys: 4 }).map(
      (shape) => () =>
        z.strictObject(
          Object.fromEntries(
            Object.entries(shape).map(([name, one]) => [name, one()]),
          ),
        ),
    ),
    fc.tuple(tie("schema"), tie("schema")).map(([one, other]) => () =>
      z.union([one(), other()])
    ),
    tie("schema").map((one) => () => one().nullable()),
  ),
}));

Deno.test("sampleOf gives a value that whoever wrote the schema accepts", () => {
  fc.assert(
    fc.property(schema, (make) => {
      const asked = make();
      const found = sampleOf(JSON.parse(JSON.stringify(z.toJSONSchema(asked))));
      assert(found.kind === "sample", JSON.stringify(found));
      asked.parse(JSON.parse(JSON.stringify(found.value)));
    }),
    { numRuns: 300 },
  );
});
