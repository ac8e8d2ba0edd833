import assert from "node:assert/strict";
import { ModelRates } from "../../src/router/model_rates.ts";
import { offerOf } from "../fakes/scripted_engine.ts";

const { rates: ANY } = offerOf();

Deno.test("ModelRates scales each unobserved concurrency as the nearest observed one is, the lower of two as near", () => {
  const rates = new ModelRates();
  const prior = { ...ANY, tpotMs: [10, 11, 12, 13, 14, 15, 16] };
  assert.equal(rates.over(prior).tpotMs[4], 14);
  // Twice as slow at two side by side, three times at six.
  rates.observeRunning({ perEventMs: 22, concurrency: 2 }, 0);
  rates.observeRunning({ perEventMs: 45, concurrency: 6 }, 0);
  const { tpotMs } = rates.over(prior);
  assert.deepEqual(tpotMs, [20, 22, 24, 26, 42, 45, 48]);
  assert.equal(rates.over(prior).tpotMs, tpotMs, "nothing was learned since");
  const other = { ...prior, tpotMs: [10] };
  assert.deepEqual(rates.over(other).tpotMs, [22, 22, 22, 22, 45, 45]);
});

Deno.test("ModelRates tells the rates of an engine with a thousand slots in one walk over them", () => {
  const rates = new ModelRates();
  rates.observeRunning({ perEventMs: 20, concurrency: 1 }, 0);
  let looks = 0;
  const tpotMs = new Proxy(Array.from({ length: 1024 }, () => 10), {
    get(values, key) {
      looks++;
      return Reflect.get(values, key);
    },
  });
  assert.equal(rates.over({ ...ANY, tpotMs }).tpotMs.length, 1024);
  assert(looks < 10 * 1024, `${looks} looks at 1,024 priors`);
});
