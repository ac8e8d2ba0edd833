import assert from "node:assert/strict";
import fc from "fast-check";
import { findJsonFlaw, jsonDepth } from "../../src/api/json_error.ts";

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

Deno.test("findJsonFlaw finds a flaw exactly where the runtime's parser refuses a text", () => {
  const damaged = fc.tuple(
    fc.jsonValue({ maxDepth: 4 }),
    fc.nat(),
    fc.constantFrom(
      "",
      ",",
      "}",
      "]",
      '"',
      "\\",
      ":",
      "x",
      "\u0001",
      "01",
      " ",
    ),
  ).map(([value, place, junk]) => {
    const text = JSON.stringify(value);
    const at = place % (text.length + 1);
    return text.slice(0, at) + junk + text.slice(at + (place % 2));
  });
  fc.assert(
    fc.property(damaged, (text) => {
      const flaw = findJsonFlaw(text);
      assert.equal(flaw === undefined, parses(text));
      if (flaw !== undefined) {
        assert.ok(flaw.offset >= 0 && flaw.offset <= text.length);
      }
    }),
    { numRuns: 2000 },
  );
});

Deno.test("findJsonFlaw reads a string of megabytes without overflowing", () => {
  const long = `{"a":"${"x\\n".repeat(2_000_000)}"`;
  assert.deepEqual(findJsonFlaw(long), {
    offset: long.length,
    expected: '"," or the closing bracket',
  });
});

Deno.test("jsonDepth counts nesting and leaves brackets in strings alone", () => {
  const depth = (text: string) => jsonDepth(new TextEncoder().encode(text), 10);
  assert.equal(depth("1"), 0);
  assert.equal(depth('{"a":[{}],"b":[]}'), 3);
  assert.equal(depth('["[[[[[", "\\"[[[[", "\\\\"]'), 1);
  assert.equal(depth("[".repeat(10)), 10);
  assert.equal(depth("[".repeat(50)), 11);
});
