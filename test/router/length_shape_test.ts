import assert from "node:assert/strict";
import fc from "fast-check";
import { estimate } from "../../src/router/estimate.ts";
import { lengthFactor, LengthShape } from "../../src/router/length_shape.ts";
import { ModelRates } from "../../src/router/model_rates.ts";
import { offerOf } from "../fakes/scripted_engine.ts";

Deno.test("lengthFactor lies between powers of two by the logarithm, and is the last beyond them", () => {
  const factors = [1, 1, 2, 4];
  assert.equal(lengthFactor(factors, 4), 2);
  assert.equal(lengthFactor(factors, 4 * Math.SQRT2), 3);
  assert.equal(lengthFactor(factors, 1e9), 4);
  assert.equal(lengthFactor(factors, 0), 1);
  assert.equal(lengthFactor(undefined, 7), 1);
  assert.equal(lengthFactor([], 7), 1);
});

Deno.test("LengthShape takes what nobody has seen for what is nearest, and shrugs at one outlier", () => {
  const shape = new LengthShape();
  assert.deepEqual(shape.factors, []);
  for (let n = 0; n < 20; n++) shape.observe(64, 2 / shape.at(64));
  assert(Math.abs(shape.at(64) - 2) < 0.1, `${shape.at(64)}`);
  assert.equal(shape.at(4), shape.at(64));
  assert.equal(shape.at(100_000), shape.at(64));
  shape.observe(64, 1000);
  assert(shape.at(64) < 2.2, `${shape.at(64)}`);
});

Deno.test("LengthShape stays within bounds whatever it is told", () => {
  fc.assert(fc.property(
    fc.array(fc.tuple(fc.double(), fc.double()), { maxLength: 60 }),
    (seen) => {
      const shape = new LengthShape();
      for (const [tokens, ratio] of seen) shape.observe(tokens, ratio);
      assert(shape.factors.length <= 22);
      for (const factor of shape.factors) {
        assert(factor >= 0.05 && factor <= 20, `${factor}`);
      }
    },
  ));
});

/** An engine as llama.cpp is: something once, and attention over the context. */
function engineTimes(promptTokens: number, outputTokens: number) {
  return {
    overheadMs: 4,
    prefillMs: promptTokens * (0.1 + promptTokens / 10_000),
    decodeMs: outputTokens *
      (2 + (promptTokens + outputTokens / 2) / 500),
  };
}

Deno.test("estimate and ModelRates come to predict prompts of any length to 5 %, with what an answer costs once", () => {
  const rates = new ModelRates();
  const prior = offerOf().rates;
  const errors: number[] = [];
  for (let n = 0; n < 120; n++) {
    const promptTokens = Math.round(16 * 2 ** ((n * 0.618 % 1) * 7));
    const outputTokens = 16 + (n * 37) % 100;
    const work = { capability: "chat", promptTokens, outputTokens } as const;
    const times = engineTimes(promptTokens, outputTokens);
    const actualMs = times.overheadMs + times.prefillMs + times.decodeMs;
    const offer = offerOf({ rates: rates.over(prior) });
    const { estimateMs } = estimate({
      work,
      offer,
      availability: { kind: "available" },
      hop: { medianMs: 0, jitterMs: 0 },
      unseenMs: [],
    });
    if (n >= 50) errors.push(Math.abs(estimateMs - actualMs) / actualMs);
    rates.observe({
      ...times,
      work,
      concurrency: 1,
      uncachedShare: 1,
      outputTokens,
      cut: false,
      loadTimeMs: null,
      serviceMs: actualMs,
    }, offer);
  }
  errors.sort((a, b) => a - b);
  const median = errors[Math.floor(errors.length / 2)] ?? NaN;
  assert(median < 0.05, `${median}`);
  assert((errors.at(-4) ?? NaN) < 0.15, `${errors.slice(-10)}`);
});

Deno.test("ModelRates takes a long context for no slowdown of the machine", () => {
  const rates = new ModelRates();
  const prior = offerOf().rates;
  const at = (promptTokens: number) => ({
    work: { capability: "chat", promptTokens, outputTokens: 20 } as const,
    concurrency: 1,
    prefillMs: null,
    uncachedShare: 1,
    decodeMs: 20 * (10 + promptTokens / 100),
    outputTokens: 20,
    cut: false,
    loadTimeMs: null,
    serviceMs: 1000,
  });
  for (let n = 0; n < 60; n++) {
    rates.observe(at([20, 200, 2000][n % 3] ?? 20), offerOf());
  }
  const { tpotMs } = rates.over(prior, 0);
  rates.observeRunning(
    { perEventMs: 30, concurrency: 1, contextTokens: 2000 },
    0,
  );
  assert(rates.slowdown(0) < 1.1, `${rates.slowdown(0)}`);
  assert.equal(rates.over(prior, 0).tpotMs.length, tpotMs.length);
  // Without knowing of the context it would be one.
  rates.observeRunning({ perEventMs: 60, concurrency: 1 }, 0);
  rates.observeRunning({ perEventMs: 60, concurrency: 1 }, 0);
  rates.observeRunning({ perEventMs: 60, concurrency: 1 }, 0);
  assert(rates.slowdown(0) > 1.5);
});
