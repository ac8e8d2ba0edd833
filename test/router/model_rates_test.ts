import assert from "node:assert/strict";
import { tpotAt } from "../../src/router/estimate.ts";
import { lengthFactor } from "../../src/router/length_shape.ts";
import {
  type AnswerObservation,
  ModelRates,
} from "../../src/router/model_rates.ts";
import { offerOf } from "../fakes/scripted_engine.ts";

const PRIOR = {
  ...offerOf().rates,
  prefillTokensPerSecond: 500,
  tpotMs: [10, 20],
};
const OFFER = offerOf({ rates: PRIOR });

function observation(part: Partial<AnswerObservation> = {}): AnswerObservation {
  return {
    work: { capability: "chat", promptTokens: 100, outputTokens: 50 },
    concurrency: 1,
    prefillMs: 100,
    uncachedShare: 1,
    decodeMs: 1000,
    outputTokens: 50,
    cut: false,
    loadTimeMs: null,
    serviceMs: 1100,
    ...part,
  };
}

Deno.test("ModelRates is the engine's prior until something was observed", () => {
  assert.deepEqual(new ModelRates().over(PRIOR), PRIOR);
});

Deno.test("ModelRates learns rates from what answers show", () => {
  const rates = new ModelRates();
  rates.observe(observation({ loadTimeMs: 700 }), OFFER);
  const learned = rates.over(PRIOR);
  assert.equal(Math.round(learned.prefillTokensPerSecond), 1000);
  // The unobserved concurrency keeps the prior's shape.
  assert.deepEqual(learned.tpotMs.map(Math.round), [20, 40]);
  assert.equal(Math.round(learned.loadTimeMs), 700);
  assert.equal(learned.observations, 1);
  assert.equal(learned.expectedOutputTokens, 50);
  assert.equal(learned.typicalError, PRIOR.typicalError);
  rates.observe(observation(), OFFER);
  // Predicted 200 + 500, took 1,100.
  assert(Math.abs(rates.over(PRIOR).typicalError - 400 / 1100) < 1e-9);
});

Deno.test("ModelRates keeps concurrencies apart and leaves cached prompt out", () => {
  const rates = new ModelRates();
  rates.observe(observation({ concurrency: 2.2, decodeMs: 1500 }), OFFER);
  rates.observe(observation({ uncachedShare: 0.5, prefillMs: 50 }), OFFER);
  const learned = rates.over(PRIOR);
  assert.deepEqual(learned.tpotMs.map(Math.round), [20, 30]);
  assert.equal(Math.round(learned.prefillTokensPerSecond), 1000);
});

Deno.test("ModelRates learns no speed from a few tokens, nor decode from embeddings", () => {
  const rates = new ModelRates();
  rates.observe(observation({ outputTokens: 2, uncachedShare: 0.01 }), OFFER);
  rates.observe(observation({ decodeMs: 0, prefillMs: 0 }), OFFER);
  assert.deepEqual(rates.over(PRIOR).tpotMs, PRIOR.tpotMs);
  assert.equal(rates.over(PRIOR).prefillTokensPerSecond, 500);
  const embedding = new ModelRates();
  const work = {
    capability: "embedding",
    promptTokens: 100,
    outputTokens: 0,
  } as const;
  embedding.observe(observation({ work, prefillMs: 200 }), OFFER);
  assert.equal(
    Math.round(embedding.over(PRIOR).prefillTokensPerSecond),
    500,
  );
  assert.deepEqual(embedding.over(PRIOR).tpotMs, PRIOR.tpotMs);
});

Deno.test("ModelRates says the time per token of one concurrency as among all that it publishes", () => {
  const prior = { ...PRIOR, tpotMs: [10, 12, 14, 16] };
  const rates = new ModelRates();
  const check = (nowMs: number) => {
    const all = rates.over(prior, nowMs);
    for (const concurrency of [0, 1, 2, 4, 9]) {
      assert.equal(
        rates.tpotAt(prior, concurrency, nowMs) *
          lengthFactor(rates.decodeFactors, 900),
        tpotAt(all, concurrency, 900),
      );
    }
  };
  check(0);
  const running = { perEventMs: 60, concurrency: 2, contextTokens: 100 };
  for (let n = 0; n < 4; n++) rates.observeRunning(running, n);
  for (let n = 0; n < 2; n++) rates.observe(observation(), OFFER, 5);
  check(10);
  // Three that agree: it is slowed down now.
  for (let n = 0; n < 3; n++) {
    rates.observeRunning({ ...running, perEventMs: 180 }, 20 + n);
  }
  assert.ok(rates.slowdown(30) > 1);
  check(30);
});
