import assert from "node:assert/strict";
import { type Engine, Fault, type ModelSet } from "../../src/domain/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { createRouter } from "../../src/router/router.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { CountingMetrics } from "../fakes/counting_metrics.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import {
  answering,
  nodeIdOf,
  offerOf,
  ScriptedEngine,
} from "../fakes/scripted_engine.ts";

const NEVER = new AbortController().signal;

/** A router in front of one engine that is paid for and not lent. */
function paidRouter(modelSets: readonly ModelSet[] = []) {
  const clock = new ManualClock();
  const engine = new ScriptedEngine({
    clock,
    node: nodeIdOf(1),
    offers: [offerOf({ model: "groq/llama", isPaid: true })],
    script: () => answering("x"),
  });
  let found: readonly Engine[] = [Object.assign(engine, { isPrivate: true })];
  const router = createRouter({
    self: { id: nodeIdOf(1), name: "node-1" },
    localEngines: [],
    foundEngines: () => found,
    peers: () => [],
    policy: "balanced",
    maxQueue: 8,
    modelSets,
    clock,
    entropy: createSeededEntropy(7),
    log: new QuietLog(),
    metrics: new CountingMetrics(),
  });
  const ask = async (model: string) => {
    const answer = await router.route(chatRequest({ model }), NEVER).catch(
      (error) => {
        assert(error instanceof Fault);
        return null;
      },
    );
    if (answer !== null) await new Response(answer.body).text();
    return answer?.model ?? null;
  };
  const lose = () => {
    found = [];
  };
  return { ask, engine, lose, router };
}

Deno.test("a paid model is asked by its own name, or by a set that spells it out", async () => {
  const cases: [string, readonly ModelSet[], boolean][] = [
    ["groq/llama", [], true],
    ["llama", [], false],
    ["any", [{ name: "any", tiers: [["*"]] }], false],
    ["any", [{ name: "any", tiers: [["*llama"]] }], false],
    ["any", [{ name: "any", tiers: [["here"], ["groq/*"]] }], true],
    ["any", [{ name: "any", tiers: [["groq/llama"]] }], true],
  ];
  for (const [model, sets, isServed] of cases) {
    const { ask } = paidRouter(sets);
    const served = await ask(model);
    assert.equal(served, isServed ? "groq/llama" : null, JSON.stringify(sets));
  }
});

Deno.test("peers neither hear of a private engine nor get at it", async () => {
  const { engine, router } = paidRouter();
  assert.deepEqual(router.report().engines, []);
  const result = await router.serve(
    engine.id,
    buildAttempt("groq/llama"),
    NEVER,
  );
  assert(result.kind === "refused" && result.reason === "not_lent");
  assert.equal(engine.attempts.length, 0);
  assert.equal(router.models().length, 1);
});

Deno.test("an engine that left is no longer offered", async () => {
  const { ask, lose, router } = paidRouter();
  assert.equal(await ask("groq/llama"), "groq/llama");
  lose();
  assert.deepEqual(router.models(), []);
  assert.equal(await ask("groq/llama"), null);
});
