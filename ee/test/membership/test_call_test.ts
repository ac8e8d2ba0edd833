import assert from "node:assert/strict";
import { WireError } from "../../src/link/wire_error.ts";
import { encodeTest, parseTest } from "../../src/membership/test_call.ts";

function parse(value: unknown) {
  return parseTest(new TextEncoder().encode(JSON.stringify(value)));
}

Deno.test("parseTest reads what encodeTest wrote", () => {
  for (const passed of [true, false]) {
    const reason = passed ? null : '"m" on embedded gave no token';
    const report = { passed, by: "token" as const, reason };
    assert.deepEqual(parseTest(encodeTest(report)), report);
  }
});

Deno.test("parseTest bounds and cleans a reason, and reads words of a newer version as a probe", () => {
  const long = parse({ passed: false, by: "token", reason: "x".repeat(3000) });
  assert.equal(long.reason?.length, 600);
  const odd = parse({ passed: false, by: "token", reason: "a\u001b[2J\nb" });
  assert.equal(odd.reason, "a [2J b");
  assert.deepEqual(parse({ passed: true, by: "oracle", more: [1] }), {
    passed: true,
    by: "probe",
    reason: null,
  });
});

Deno.test("parseTest refuses what does not say whether it passed", () => {
  for (const value of [null, [], {}, { passed: "true" }, { passed: 1 }, "x"]) {
    assert.throws(() => parse(value), WireError, JSON.stringify(value));
  }
});
