import assert from "node:assert/strict";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { victimsFor } from "../../src/engines/embedded/memory_room.ts";
import { createSimulatedEngine } from "../../src/engines/simulated/simulated_engine.ts";
import { ArrivalRates } from "../../src/router/arrival_rates.ts";
import { evictionMs, WarmCopies } from "../../src/router/eviction.ts";
import { createRouter } from "../../src/router/mod.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { CountingMetrics } from "../fakes/counting_metrics.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import { nodeIdOf, offerOf } from "../fakes/scripted_engine.ts";
import { StaleLink } from "../fakes/stale_link.ts";

const NEVER = new AbortController().signal;
const COLD = { kind: "cold" } as const;

Deno.test("evictionMs is reload × chance of reuse, doubled for the last warm copy", () => {
  const evicts = [{
    model: "other",
    reloadMs: 1000,
    idleMs: 0,
    reuseChance: 0.5,
  }];
  const offer = offerOf({ state: COLD, evicts });
  const engineOf = (
    digit: number,
    offers: readonly ReturnType<typeof offerOf>[],
  ) => ({
    key: `${digit}`,
    node: nodeIdOf(digit),
    nodeName: `${digit}`,
    engine: "fake",
    view: {
      availability: { kind: "available" as const },
      hop: { medianMs: 0, jitterMs: 0 },
      offers,
      dispatchesSeen: 0,
    },
    unseenMs: () => [],
    bar: null,
  });
  const other = offerOf({ model: "other", root: "r" });
  const here = engineOf(1, [offer, other]);
  const costs = (elsewhere: Parameters<typeof offerOf>[0]) =>
    evictionMs(
      offer,
      here,
      new WarmCopies([here, engineOf(2, [offerOf(elsewhere)])]),
    );
  assert.equal(costs({ model: "unrelated" }), 1000);
  assert.equal(costs({ model: "other", state: COLD }), 1000);
  assert.equal(costs({ model: "other" }), 500);
  assert.equal(costs({ model: "same weights", root: "r" }), 500);
  assert.equal(
    evictionMs(offerOf({ evicts }), here, new WarmCopies([here])),
    0,
  );
});

Deno.test("ArrivalRates makes reuse likely where requests are frequent and time is left", () => {
  const rates = new ArrivalRates();
  assert.equal(rates.reuseChance("m", 1000, 0), 0);
  for (let atMs = 0; atMs < 300_000; atMs += 5000) rates.observe("m", atMs);
  rates.observe("rare", 0);
  assert(rates.reuseChance("m", 60_000, 300_000) > 0.99);
  assert(rates.reuseChance("m", 0, 300_000) === 0);
  assert(rates.reuseChance("rare", 60_000, 300_000) < 0.1);
  assert(rates.reuseChance("m", Infinity, 7_200_000) < 0.01);
});

Deno.test("victimsFor takes idle models, longest unused first, until there is room", () => {
  const free = { inUse: false, isPinned: false };
  const room = (ramBytes: number, cardBytes = 0) => ({ ramBytes, cardBytes });
  const residents = [
    { ...free, ...room(10), name: "new", lastUsedMs: 9 },
    { ...free, ...room(10), name: "old", lastUsedMs: 1 },
    { ...free, ...room(100), name: "busy", inUse: true, lastUsedMs: 0 },
    { ...free, ...room(1, 20), name: "carded", lastUsedMs: 5 },
  ];
  const names = (ramBytes: number, cardBytes = 0) =>
    victimsFor(room(5, 5), room(ramBytes, cardBytes), residents)
      .map(({ name }) => name);
  assert.deepEqual(names(5), []);
  assert.deepEqual(names(15), ["old"]);
  assert.deepEqual(names(90), ["old", "carded", "new"]);
  // Where cards are short, what lies in the machine's memory stays.
  assert.deepEqual(names(5, 10), ["carded"]);
  assert.deepEqual(names(5, 90), ["carded"]);
  assert.deepEqual(names(12, 10), ["old", "carded"]);
});

function simulated(clock: ManualClock, digit: number) {
  return createSimulatedEngine({
    clock,
    entropy: createSeededEntropy(digit),
    node: nodeIdOf(digit),
    nodeName: `node-${digit}`,
    config: {
      kind: "simulated",
      id: "fake",
      maxLoaded: 1,
      faults: { errorRate: 0, stallMs: 0, dieAfterTokens: null },
      models: ["a", "b"].map((id) => ({
        id,
        capability: "chat" as const,
        loadMs: 12_000,
        prefillTokensPerSecond: 1000,
        decodeTokensPerSecond: 1,
        batchSlowdown: 0,
        noise: 0,
        slots: 1,
        contextLength: 8192,
      })),
    },
  });
}

Deno.test("a simulated engine with room for one model swaps when it is idle, and says what it would evict", async () => {
  const clock = new ManualClock();
  await using engine = simulated(clock, 1);
  const router = createRouter({
    self: { id: nodeIdOf(1), name: "node-1" },
    localEngines: [engine],
    peers: () => [],
    policy: "balanced",
    maxQueue: 64,
    clock,
    entropy: createSeededEntropy(1),
    log: new QuietLog(),
    metrics: new CountingMetrics(),
  });
  const states = () =>
    engine.view().offers.map(({ model, state }) => [model, state.kind]);
  const ask = async (model: string) => {
    const answer = await router.route(
      chatRequest({ model, maxOutputTokens: 1 }),
      NEVER,
    );
    await new Response(answer.body).text();
  };
  const first = ask("a");
  await clock.advance(14_000);
  await first;
  assert.deepEqual(states(), [["a", "warm"], ["b", "cold"]]);
  assert.deepEqual(engine.view().offers[1]?.evicts, [
    {
      model: "a",
      reloadMs: 12_000,
      idleMs: engine.view().offers[1]?.evicts?.[0]?.idleMs,
    },
  ]);
  assert.deepEqual(engine.view().offers[0]?.evicts, []);
  const both = [ask("a"), ask("b")];
  await clock.advance(1500);
  assert.deepEqual(states(), [["a", "cold"], ["b", "loading"]]);
  await clock.advance(14_000);
  await Promise.all(both);
  assert.deepEqual(states(), [["a", "cold"], ["b", "warm"]]);
  await router[Symbol.asyncDispose]();
});

Deno.test("two models with room for one per node do not thrash at load 0.65 (study B6)", async () => {
  const clock = new ManualClock();
  await using one = simulated(clock, 1);
  await using two = simulated(clock, 2);
  const make = (
    digit: number,
    engine: typeof one,
    peers: () => readonly StaleLink[],
  ) =>
    createRouter({
      self: { id: nodeIdOf(digit), name: `node-${digit}` },
      localEngines: [engine],
      peers,
      policy: "balanced",
      maxQueue: 64,
      clock,
      entropy: createSeededEntropy(digit),
      log: new QuietLog(),
      metrics: new CountingMetrics(),
    });
  await using there = make(2, two, () => []);
  const link = new StaleLink({
    clock,
    entry: nodeIdOf(1),
    node: nodeIdOf(2),
    peer: there,
  });
  await using here = make(1, one, () => [link]);
  using _polls = clock.every(2000, () => link.poll());
  const random = createSeededEntropy(42);
  const took: number[] = [];
  const running: Promise<void>[] = [];
  // Jobs of 4 s, one every 3.1 s on average: 0.65 of two nodes.
  for (let n = 0; n < 60; n++) {
    const atMs = clock.monotonic();
    const model = random.float() < 0.5 ? "a" : "b";
    running.push(
      here.route(chatRequest({ model, maxOutputTokens: 4 }), NEVER)
        .then((answer) => new Response(answer.body).text())
        .then(() => void took.push(clock.monotonic() - atMs)),
    );
    await clock.advance(-Math.log(1 - random.float()) * 3100);
  }
  await clock.advance(60_000);
  await Promise.all(running);
  const mean = took.reduce((sum, ms) => sum + ms, 0) / took.length;
  // A node each: M/D/1 at 0.65 has a mean of 7.7 s; the backlog of the first
  // loads comes on top. Without the price of evictions this grows without end.
  assert(mean < 20_000, `${mean}`);
});
