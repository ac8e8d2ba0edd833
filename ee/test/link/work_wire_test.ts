import assert from "node:assert/strict";
import { parseWorkReport } from "../../src/link/work_wire.ts";

const RATES = {
  prefillTokensPerSecond: 900,
  tpotMs: [20, 30],
  loadTimeMs: 1000,
  observations: 12,
  typicalError: 0.1,
  expectedOutputTokens: 200,
};

/** What a peer's report becomes whose only offer has such rates. */
function ratesOf(rates: unknown) {
  return offerOf({ rates })?.rates;
}

/** What becomes of a peer's only offer that is like this in part. */
function offerOf(part: Readonly<Record<string, unknown>>) {
  const report = parseWorkReport(JSON.parse(JSON.stringify({
    engines: [{
      id: "llama",
      offers: [{
        model: "m",
        root: null,
        capabilities: ["chat"],
        features: [],
        contextLength: 4096,
        sizeBytes: null,
        state: { kind: "warm", loadTimeMs: null },
        device: "llama",
        queue: { slots: 1, runningMs: [], waitingMs: [] },
        rates: RATES,
        ...part,
      }],
    }],
    dispatchesSeen: {},
  })));
  return report?.engines[0]?.offers[0];
}

Deno.test("parseWorkReport keeps what an answer costs once and how its pace depends on length", () => {
  assert.deepEqual(ratesOf(RATES), RATES);
  const learned = {
    ...RATES,
    overheadMs: 4.2,
    byLength: { prefill: [1.4, 1.1, 1], decode: [] },
  };
  assert.deepEqual(ratesOf(learned), learned);
});

Deno.test("parseWorkReport keeps the name of the process that computes an offer, where one is told", () => {
  assert.equal(offerOf({ process: "f00d.1" })?.process, "f00d.1");
  const untold = offerOf({});
  assert(untold !== undefined && !("process" in untold));
  for (const process of ["", "x".repeat(65), 1, null]) {
    assert.equal(offerOf({ process }), undefined);
  }
});

Deno.test("parseWorkReport leaves an offer out whose factors are no factors", () => {
  for (
    const byLength of [
      { prefill: [0], decode: [] },
      { prefill: [1], decode: [-1] },
      { prefill: Array.from({ length: 65 }, () => 1), decode: [] },
      { prefill: ["1"], decode: [] },
      { prefill: [1] },
      "1",
    ]
  ) {
    assert.equal(ratesOf({ ...RATES, byLength }), undefined);
  }
  assert.equal(ratesOf({ ...RATES, overheadMs: -1 }), undefined);
});
