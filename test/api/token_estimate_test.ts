import assert from "node:assert/strict";
import fc from "fast-check";
import { estimateTextTokens } from "../../src/api/openai/token_estimate.ts";

Deno.test("estimateTextTokens counts a token for every four bytes of UTF-8, however long the text", () => {
  const encoder = new TextEncoder();
  // Halves of pairs that stand alone are replaced, as three bytes.
  const text = fc.string({ unit: "binary", maxLength: 40 })
    .map((one) => `${one}\ud83d${one}\ude00`);
  const times = fc.constantFrom(1, 20, 700);
  fc.assert(
    fc.property(text, times, fc.nat(3), (one, times, shift) => {
      const long = "a".repeat(shift) + one.repeat(times);
      assert.equal(
        estimateTextTokens(long),
        Math.ceil(encoder.encode(long).length / 4),
      );
    }),
    { numRuns: 60 },
  );
  assert.equal(estimateTextTokens(""), 1);
  assert.equal(estimateTextTokens("😀".repeat(20_000)), 20_000);
});
