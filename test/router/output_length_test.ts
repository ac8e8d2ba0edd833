import assert from "node:assert/strict";
import fc from "fast-check";
import { ForecastStretch } from "../../src/router/forecast_stretch.ts";
import { OutputLengths } from "../../src/router/output_length.ts";

Deno.test("OutputLengths takes the prior, bounded by the limit, before it has seen anything", () => {
  const lengths = new OutputLengths();
  assert.deepEqual(lengths.expected(null), {
    meanTokens: 256,
    medianTokens: 256,
    p80Tokens: 256 * Math.log(5),
  });
  assert.deepEqual(lengths.expected(128), {
    meanTokens: 128,
    medianTokens: 128,
    p80Tokens: 128,
  });
});

Deno.test("OutputLengths is the plain mean and median of complete answers", () => {
  const lengths = new OutputLengths();
  for (const tokens of [10, 20, 60]) lengths.observe(tokens, false);
  const { meanTokens, medianTokens } = lengths.expected(null);
  assert(Math.abs(meanTokens - 30) < 1e-9);
  assert.equal(medianTokens, 20);
});

Deno.test("OutputLengths says what four of five answers stay within, cut ones counting as longer", () => {
  const lengths = new OutputLengths();
  for (const tokens of [10, 20, 30, 40, 50]) lengths.observe(tokens, false);
  assert.equal(lengths.expected(null).p80Tokens, 40);
  assert.equal(lengths.expected(35).p80Tokens, 35);
  const cut = new OutputLengths();
  for (const tokens of [10, 20, 30]) cut.observe(tokens, false);
  for (const tokens of [35, 35]) cut.observe(tokens, true);
  // Two of five are beyond 35: half of them within the prior's half-life.
  const { p80Tokens = NaN } = cut.expected(null, 100);
  assert(Math.abs(p80Tokens - (35 + 100 * Math.LN2)) < 1e-6);
});

Deno.test("ForecastStretch widens what does not hold and never passes the limit", () => {
  const stretch = new ForecastStretch();
  const expected = { meanTokens: 120, medianTokens: 100, p80Tokens: 200 };
  assert.equal(stretch.apply(expected, null).p80Tokens, 200);
  for (let n = 0; n < 10; n++) stretch.observe(false);
  const wider = stretch.apply(expected, null).p80Tokens ?? NaN;
  assert(wider > 240 && wider < 260, `${wider}`);
  assert.equal(stretch.apply(expected, 210).p80Tokens, 210);
  for (let n = 0; n < 40; n++) stretch.observe(true);
  assert(Math.abs((stretch.apply(expected, null).p80Tokens ?? 0) - 200) < 1e-9);
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
