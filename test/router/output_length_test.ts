import assert from "node:assert/strict";
import fc from "fast-check";
import { OutputLengths } from "../../src/router/output_length.ts";

Deno.test("OutputLengths takes the prior, bounded by the limit, before it has seen anything", () => {
  const lengths = new OutputLengths();
  assert.deepEqual(lengths.expected(null), {
    meanTokens: 256,
    medianTokens: 256,
  });
  assert.deepEqual(lengths.expected(128), {
    meanTokens: 128,
    medianTokens: 128,
  });
});

Deno.test("OutputLengths is the plain mean and median of complete answers", () => {
  const lengths = new OutputLengths();
  for (const tokens of [10, 20, 60]) lengths.observe(tokens, false);
  const { meanTokens, medianTokens } = lengths.expected(null);
  assert(Math.abs(meanTokens - 30) < 1e-9);
  assert.equal(medianTokens, 20);
});

Deno.test("OutputLengths restricts to the limit, which is a bound and no forecast", () => {
  const lengths = new OutputLengths();
  for (const tokens of [10, 20, 60]) lengths.observe(tokens, false);
  assert(Math.abs(lengths.expected(40).meanTokens - 70 / 3) < 1e-9);
  assert(lengths.expected(4000).meanTokens < 31);
});

Deno.test("OutputLengths does not take answers cut by a limit for short ones", () => {
  const lengths = new OutputLengths();
  // Kaplan and Meier by hand: S = 3/4 after 10, then 3/8 after 30, then 0.
  lengths.observe(10, false);
  lengths.observe(20, true);
  lengths.observe(30, false);
  lengths.observe(50, false);
  const { meanTokens, medianTokens } = lengths.expected(null);
  assert(Math.abs(meanTokens - (10 + 0.75 * 20 + 0.375 * 20)) < 1e-9);
  assert.equal(medianTokens, 30);
  const cut = new OutputLengths();
  for (let n = 0; n < 50; n++) cut.observe(128, true);
  assert.equal(cut.expected(128).meanTokens, 128);
  assert(cut.expected(null).meanTokens > 128);
});

Deno.test("OutputLengths keeps both figures between nothing and the limit", () => {
  fc.assert(fc.property(
    fc.array(fc.tuple(fc.nat(5000), fc.boolean()), { maxLength: 250 }),
    fc.option(fc.nat(5000)),
    (seen, bound) => {
      const lengths = new OutputLengths();
      for (const [tokens, cut] of seen) lengths.observe(tokens, cut);
      assert(lengths.observations <= 200);
      const { meanTokens, medianTokens } = lengths.expected(bound);
      for (const tokens of [meanTokens, medianTokens]) {
        assert(tokens >= 0 && tokens <= (bound ?? Infinity) + 1e-6);
      }
    },
  ));
});
