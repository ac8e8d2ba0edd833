import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Breaker,
  breakerAdmits,
  CLOSED_BREAKER,
  passBreaker,
  settleBreaker,
} from "../../src/router/breaker.ts";

function failing(breaker: Breaker, timesMs: readonly number[]): Breaker {
  return timesMs.reduce(
    (now, atMs) => settleBreaker(now, null, "error", atMs),
    breaker,
  );
}

Deno.test("settleBreaker opens at the fifth error within a minute and not before", () => {
  assert.equal(failing(CLOSED_BREAKER, [0, 1, 2, 3]).state, "closed");
  assert.equal(failing(CLOSED_BREAKER, [0, 1, 2, 3, 60_001]).state, "closed");
  const open = failing(CLOSED_BREAKER, [0, 1, 2, 3, 4]);
  assert.deepEqual(open, { state: "open", untilMs: 30_004 });
  assert.equal(breakerAdmits(open, 30_003), false);
  assert.equal(breakerAdmits(open, 30_004), true);
});

Deno.test("passBreaker lets one probe through at a time, and two successes close it", () => {
  const open = failing(CLOSED_BREAKER, [0, 0, 0, 0, 0]);
  const first = passBreaker(open);
  assert.equal(breakerAdmits(first.breaker, 40_000), false);
  const half = settleBreaker(first.breaker, first.probe, "success", 40_000);
  assert.equal(half.state, "half_open");
  const second = passBreaker(half);
  assert.deepEqual(
    settleBreaker(second.breaker, second.probe, "success", 40_100),
    CLOSED_BREAKER,
  );
  const failed = settleBreaker(second.breaker, second.probe, "error", 40_100);
  assert.deepEqual(failed, { state: "open", untilMs: 70_100 });
});

Deno.test("settleBreaker lets only the probe that is out decide, and a neutral end frees its place", () => {
  const { breaker, probe } = passBreaker(
    failing(CLOSED_BREAKER, [0, 0, 0, 0, 0]),
  );
  for (const outcome of ["success", "error"] as const) {
    assert.equal(settleBreaker(breaker, null, outcome, 31_000), breaker);
    assert.equal(settleBreaker(breaker, 7, outcome, 31_000), breaker);
  }
  const freed = settleBreaker(breaker, probe, "neutral", 31_000);
  assert.equal(breakerAdmits(freed, 31_000), true);
});

Deno.test("settleBreaker never opens by what is neutral (RTE-01)", () => {
  fc.assert(fc.property(fc.array(fc.nat(1000)), (timesMs) => {
    const breaker = timesMs.reduce<Breaker>(
      (now, atMs) => settleBreaker(now, null, "neutral", atMs),
      CLOSED_BREAKER,
    );
    assert.deepEqual(breaker, CLOSED_BREAKER);
  }));
});
