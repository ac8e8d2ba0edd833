import assert from "node:assert/strict";
import type { Attempt, Offer } from "../../src/domain/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { createRouter } from "../../src/router/mod.ts";
import { CountingMetrics } from "../fakes/counting_metrics.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import {
  answering,
  nodeIdOf,
  offerOf,
  type Script,
  ScriptedEngine,
} from "../fakes/scripted_engine.ts";

const HANGING: Script = { kind: "answer", steps: [{ hang: true }] };

/** A node with one engine, and what came of its tests. */
function setUp(
  offers: readonly Offer[],
  script: (attempt: Attempt, n: number) => Script = () => answering("yes"),
) {
  const clock = new ManualClock();
  const metrics = new CountingMetrics();
  const node = nodeIdOf(1);
  const engine = new ScriptedEngine({
    clock,
    node,
    isMeasurable: true,
    offers,
    script,
  });
  const router = createRouter({
    self: { id: node, name: "one" },
    localEngines: [engine],
    peers: () => [],
    policy: "balanced",
    maxQueue: 8,
    clock,
    entropy: createSeededEntropy(1),
    log: new QuietLog(),
    metrics,
  });
  const test = async (ms = 100) => {
    const report = router.testEngines?.() ?? assert.fail();
    await clock.advance(ms);
    return await report;
  };
  const count = (by: string, outcome: string) =>
    metrics.counts.get(`covey_test_tasks_total{by=${by},outcome=${outcome}}`);
  /** Test tasks that the engine was asked; it may be measured besides. */
  const asked = () =>
    engine.attempts.filter(({ request }) => request.client === "test-task");
  return { asked, clock, count, engine, router, test };
}

Deno.test("testEngines asks one token of a warm model, and says how it went", async () => {
  const { count, engine, router, test } = setUp([offerOf()]);
  assert.deepEqual(await test(), { passed: true, by: "token", reason: null });
  const [attempt] = engine.attempts;
  assert.equal(engine.attempts.length, 1);
  assert.equal(attempt?.request.body["max_tokens"], 1);
  assert.equal(count("token", "passed"), 1);
  assert.equal(router.report().inFlight, 0);
  await router[Symbol.asyncDispose]();
});

Deno.test("testEngines runs one test for all who ask within 10 s of its end", async () => {
  const { asked, clock, router, test } = setUp([offerOf()]);
  const first = router.testEngines?.();
  const second = router.testEngines?.();
  const third = await test();
  assert.deepEqual([await first, await second], [third, third]);
  await clock.advance(9000);
  await test();
  assert.equal(asked().length, 1);
  await clock.advance(1000);
  await test();
  assert.equal(asked().length, 2);
  await router[Symbol.asyncDispose]();
});

Deno.test("testEngines fails an engine that hangs, in bounded time, and lets go of its slot", async () => {
  const { asked, clock, count, engine, router, test } = setUp(
    [offerOf()],
    () => HANGING,
  );
  const report = await test(5000);
  assert.equal(report.passed, false);
  assert.match(report.reason ?? "", /"m" on fake gave no token within 5000 ms/);
  assert.equal(count("token", "failed"), 1);
  assert.deepEqual([engine.running, engine.stopped], [0, 1]);
  assert.deepEqual(router.report().engines[0]?.offers[0]?.queue.runningMs, []);
  await clock.advance(3000);
  await test();
  assert.equal(asked().length, 1, "shared for 4 s");
  await clock.advance(1000);
  await test(5000);
  assert.equal(asked().length, 2, "tested anew for a second try");
  assert.equal(engine.attempts.length, 2, "and never measured");
  await router[Symbol.asyncDispose]();
});

Deno.test("testEngines fails an engine that breaks or answers with a 5xx, not one that declines", async () => {
  const outcomes: [Script, boolean][] = [
    [{ kind: "throw", at: "start", error: new Error("no process") }, false],
    [{ kind: "answer", status: 500, steps: ["{}"] }, false],
    [{ kind: "answer", status: 400, steps: ["{}"] }, true],
    [{ kind: "answer", status: 429, steps: ["{}"] }, true],
  ];
  for (const [script, passed] of outcomes) {
    const { router, test } = setUp([offerOf()], () => script);
    const report = await test();
    assert.equal(report.passed, passed, JSON.stringify(report));
    await router[Symbol.asyncDispose]();
  }
});

Deno.test("testEngines never loads a model, never asks a paid one, and runs nothing while drained", async () => {
  const cold = offerOf({ state: { kind: "cold" } });
  for (const offer of [cold, offerOf({ isPaid: true })]) {
    const { count, engine, router, test } = setUp([offer]);
    assert.equal((await test()).passed, true);
    assert.equal(count("probe", "passed"), 1);
    assert.equal(engine.attempts.length, 0);
    await router[Symbol.asyncDispose]();
  }
  const { engine, router, test } = setUp([offerOf()]);
  router.drain(true);
  assert.deepEqual(await test(), { passed: true, by: "probe", reason: null });
  engine.availability = { kind: "unavailable", reason: "Its server is gone" };
  await test(10_000);
  assert.equal((await test()).passed, false);
  assert.equal(engine.attempts.length, 0);
  await router[Symbol.asyncDispose]();
});

Deno.test("runOwn asks nothing of a model that left memory while it waited", async () => {
  const { engine, router, test } = setUp([offerOf()]);
  const testing = test();
  // Between the choice and its turn.
  engine.offers = [offerOf({ state: { kind: "cold" } })];
  assert.deepEqual(await testing, { passed: true, by: "probe", reason: null });
  assert.equal(engine.attempts.length, 0);
  await router[Symbol.asyncDispose]();
});
