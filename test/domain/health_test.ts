import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Health,
  type Liveness,
  stepHealth,
  UNMET,
} from "../../src/domain/mod.ts";

function run(kinds: readonly Liveness["kind"][], met = true, from = UNMET) {
  return kinds.reduce<Health>(
    (health, kind) => stepHealth(health, { kind }, met),
    from,
  );
}
const HEALTHY: Health = { state: "healthy", failures: 0 };

Deno.test("stepHealth makes a member healthy at first sight", () => {
  assert.equal(run(["pass"], false).state, "healthy");
});

Deno.test("stepHealth degrades on one failure and puts off line on the third", () => {
  assert.equal(run(["failure"], true, HEALTHY).state, "degraded");
  assert.equal(run(["failure", "failure"], true, HEALTHY).state, "degraded");
  assert.equal(
    run(["failure", "failure", "failure"], true, HEALTHY).state,
    "offline",
  );
});

Deno.test("stepHealth heals a degraded member on one pass and forgets its failures", () => {
  const healed = run(["failure", "failure", "pass"], true, HEALTHY);
  assert.deepEqual(healed, HEALTHY);
});

Deno.test("stepHealth puts off line at once when every address refused", () => {
  assert.equal(run(["all_refused"], true, HEALTHY).state, "offline");
});

Deno.test("stepHealth lets an offline member back only through a passed test", () => {
  const back: Liveness["kind"][] = ["all_refused", "pass"];
  assert.equal(run(back, true, HEALTHY).state, "recovery");
  assert.equal(run([...back, "pass"], true, HEALTHY).state, "recovery");
  assert.equal(run([...back, "test_passed"], true, HEALTHY).state, "healthy");
  assert.equal(run([...back, "test_failed"], true, HEALTHY).state, "offline");
  assert.equal(run([...back, "failure"], true, HEALTHY).state, "offline");
});

Deno.test("stepHealth never leaves a met member healthy after three failures in a row", () => {
  const kinds = fc.constantFrom<Liveness["kind"]>(
    "pass",
    "failure",
    "all_refused",
    "test_passed",
    "test_failed",
  );
  fc.assert(fc.property(fc.array(kinds, { maxLength: 30 }), (history) => {
    const health = run([...history, "failure", "failure", "failure"], true);
    assert.equal(health.state, "offline");
  }));
});
