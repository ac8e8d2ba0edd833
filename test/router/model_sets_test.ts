import assert from "node:assert/strict";
import type { ModelSet, Offer } from "../../src/domain/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { matchesPattern } from "../../src/router/model_set.ts";
import { createRouter } from "../../src/router/router.ts";
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

/** A router of node 1; the further nodes are a little farther each. */
function nodesWith(
  offers: readonly (readonly Offer[])[],
  modelSets: readonly ModelSet[] = [],
) {
  const clock = new ManualClock();
  const engines = offers.map((own, index) => {
    const engine = new ScriptedEngine({
      clock,
      node: nodeIdOf(index + 1),
      offers: own,
      script: () => answering("x"),
    });
    engine.hop = { medianMs: index, jitterMs: 0 };
    return engine;
  });
  const router = createRouter({
    self: { id: nodeIdOf(1), name: "node-1" },
    localEngines: engines.slice(0, 1),
    peers: () => engines.slice(1),
    policy: "balanced",
    maxQueue: 8,
    modelSets,
    clock,
    entropy: createSeededEntropy(7),
    log: new QuietLog(),
    metrics: new CountingMetrics(),
  });
  const ask = async (model: string) => {
    const answer = await router.route(chatRequest({ model }), NEVER);
    await new Response(answer.body).text();
    return answer.model;
  };
  return { router, engines, ask };
}

Deno.test("equal weights serve under any of their names, each engine asked for its own (MOD-03)", async () => {
  const { engines, ask } = nodesWith([
    [offerOf({ model: "team-model:latest", root: "r" })],
    [
      offerOf({ model: "qwen2.5:7b", root: "r" }),
      offerOf({ model: "team-model-q8", root: "q" }),
    ],
  ]);
  const [here, there] = engines;
  assert(here !== undefined && there !== undefined);
  for (let n = 0; n < 20; n++) {
    here.availability = n % 2 === 0
      ? { kind: "available" }
      : { kind: "unavailable", reason: "gone" };
    const served = await ask("team-model");
    assert.equal(served, n % 2 === 0 ? "team-model:latest" : "qwen2.5:7b");
  }
  assert(here.attempts.every(({ model }) => model === "team-model:latest"));
  assert(there.attempts.every(({ model }) => model === "qwen2.5:7b"));
});

Deno.test("names mean nothing to each other unless weights or the operator say so", async () => {
  const { ask } = nodesWith([
    [offerOf({ model: "qwen3-8b-q4", root: "a" })],
    [offerOf({ model: "qwen3-8b-q8", root: "b" })],
  ]);
  for (const name of ["qwen3-8b", "qwen3", "qwen3-8b-q5", ""]) {
    await assert.rejects(ask(name), { code: "model_not_found" });
  }
});

Deno.test("a set joins what the operator declares, and its fallbacks wait until nobody else can", async () => {
  const { engines, ask, router } = nodesWith([
    [offerOf({ model: "small" }), offerOf({ model: "big-gguf:latest" })],
    [offerOf({ model: "big-mlx" })],
  ], [
    { name: "big", tiers: [["big-*"], ["small"]] },
    { name: "claude-*", tiers: [["small"]] },
    { name: "claude-opus-*", tiers: [["big"], ["big-mlx"]] },
  ]);
  const [here, there] = engines;
  assert(here !== undefined && there !== undefined);
  assert.equal(await ask("big"), "big-gguf:latest");
  here.offers = [offerOf({ model: "small" })];
  assert.equal(await ask("big"), "big-mlx");
  there.availability = { kind: "unavailable", reason: "gone" };
  assert.equal(await ask("big"), "small");
  assert.equal(await ask("claude-sonnet-5"), "small");
  there.availability = { kind: "available" };
  assert.equal(await ask("claude-opus-5"), "big-mlx");
  assert.equal(await ask("small"), "small", "a member's name stays its own");
  await assert.rejects(ask("gpt-5"), { code: "model_not_found" });
  assert.deepEqual(router.models().map(({ model, nodes }) => [model, nodes]), [
    ["big", [nodeIdOf(1), nodeIdOf(2)]],
    ["big-mlx", [nodeIdOf(2)]],
    ["small", [nodeIdOf(1)]],
  ]);
});

Deno.test("a failed engine is followed by its set, then by the fallback", async () => {
  const { router, engines } = nodesWith([
    [offerOf({ model: "a" })],
    [offerOf({ model: "c" })],
    [offerOf({ model: "b" })],
  ], [{ name: "x", tiers: [["a", "b"], ["c"]] }]);
  const asked: string[] = [];
  for (const engine of engines) {
    engine.start = ({ model }) => {
      asked.push(model);
      return Promise.reject(new Error("broke"));
    };
  }
  await assert.rejects(router.route(chatRequest({ model: "x" }), NEVER));
  assert.deepEqual(asked, ["a", "b", "c"]);
});

Deno.test("matchesPattern takes stars anywhere and is quick on hostile ones", () => {
  for (
    const [pattern, name, fits] of [
      ["claude-*", "claude-sonnet", true],
      ["claude-*", "claude-", true],
      ["claude-*", "Claude-x", false],
      ["*", "", true],
      ["*:8b", "qwen3:8b", true],
      ["a*b*c", "a1b2c", true],
      ["a*b*c", "ac", false],
      ["aa*aa", "aaa", false],
      ["a.c", "abc", false],
      ["*ab*ab", "ab", false],
    ] as const
  ) assert.equal(matchesPattern(pattern, name), fits, `${pattern} ${name}`);
  const stars = "*a".repeat(200);
  assert.equal(matchesPattern(`${stars}b`, "a".repeat(500)), false);
});
