import assert from "node:assert/strict";
import type { Engine } from "../../src/domain/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { createRouter } from "../../src/router/mod.ts";
import { moveTarget, waitBehind } from "../../src/router/move_rule.ts";
import { place } from "../../src/router/place.ts";
import { parseModelName } from "../../src/router/model_name.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { CountingMetrics } from "../fakes/counting_metrics.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import {
  answeringIn,
  nodeIdOf,
  offerOf,
  type Script,
  ScriptedEngine,
} from "../fakes/scripted_engine.ts";
import { StaleLink } from "../fakes/stale_link.ts";

const NEVER = new AbortController().signal;

function nodeWith(
  clock: ManualClock,
  digit: number,
  script: (n: number) => Script,
  peers: () => readonly Engine[] = () => [],
) {
  const engine = new ScriptedEngine({
    clock,
    node: nodeIdOf(digit),
    offers: [offerOf()],
    script: (_, n) => script(n),
  });
  const metrics = new CountingMetrics();
  const router = createRouter({
    self: { id: nodeIdOf(digit), name: `node-${digit}` },
    localEngines: [engine],
    peers,
    policy: "balanced",
    maxQueue: 64,
    clock,
    entropy: createSeededEntropy(digit),
    log: new QuietLog(),
    metrics,
  });
  return { engine, metrics, router };
}

async function ask(
  router: ReturnType<typeof nodeWith>["router"],
  maxOutputTokens: number,
) {
  const answer = await router.route(chatRequest({ maxOutputTokens }), NEVER);
  await new Response(answer.body).text();
  return answer;
}

Deno.test("a request that waits at a peer is taken back when this node is free sooner, and the record says so", async () => {
  const clock = new ManualClock();
  const there = nodeWith(clock, 2, () => answeringIn(1000, 100));
  const link = new StaleLink({
    clock,
    entry: nodeIdOf(1),
    node: nodeIdOf(2),
    peer: there.router,
  });
  const here = nodeWith(
    clock,
    1,
    (n) => answeringIn(n === 1 ? 500 : 1000, 100),
    () => [link],
  );
  // Here a long one, which is over sooner than expected; there two short ones.
  const asked = [1000, 100, 100].map((tokens) => ask(here.router, tokens));
  await clock.advance(400);
  assert.equal(link.served.length, 2);
  await clock.advance(1200);
  const [, , third] = await Promise.all(asked);
  assert.equal(link.withdrawn, 1);
  assert.equal(there.engine.attempts.length, 1);
  const moved = here.router.decision(third?.decision ?? assert.fail());
  assert.equal(third?.node, nodeIdOf(1));
  assert.deepEqual(
    moved?.attempts.map(({ node, outcome }) => [node, outcome]),
    [[nodeIdOf(2), "withdrawn"], [nodeIdOf(1), "answered"]],
  );
  assert.equal(
    here.metrics.counts.get("covey_withdrawals_total{result=moved}"),
    1,
  );
  assert.deepEqual([here.router.inFlight(), there.router.inFlight()], [0, 0]);
  assert.equal(clock.pending, 0);
});

Deno.test("a request that waits here moves to a peer that falls free, and no two go for the same slot", async () => {
  const clock = new ManualClock();
  const there = nodeWith(clock, 2, () => answeringIn(400, 100));
  const link = new StaleLink({
    clock,
    entry: nodeIdOf(1),
    node: nodeIdOf(2),
    peer: there.router,
  });
  const here = nodeWith(clock, 1, () => answeringIn(2560, 256), () => [link]);
  // Three on each side; the peer is done sooner than anybody thought.
  const asked = Array.from({ length: 6 }, () => ask(here.router, 1000));
  await clock.advance(0);
  assert.equal(link.served.length, 3);
  await clock.advance(1400);
  link.poll();
  assert.equal(there.router.inFlight(), 0);
  await clock.advance(100);
  assert.equal(there.router.inFlight(), 1);
  assert.equal(there.engine.attempts.length, 4);
  await clock.advance(10_000);
  await Promise.all(asked);
  assert.equal(clock.pending, 0);
});

Deno.test("a client that leaves while its request waits leaves nothing behind", async () => {
  const clock = new ManualClock();
  const there = nodeWith(clock, 2, () => answeringIn(1000, 100));
  const link = new StaleLink({
    clock,
    entry: nodeIdOf(1),
    node: nodeIdOf(2),
    peer: there.router,
  });
  const here = nodeWith(clock, 1, () => answeringIn(1000, 100), () => [link]);
  const running = [ask(here.router, 100), ask(here.router, 100)];
  const client = new AbortController();
  const waiting = assert.rejects(
    here.router.route(chatRequest(), client.signal),
  );
  await clock.advance(600);
  client.abort(new Error("gone"));
  await waiting;
  await clock.advance(1000);
  await Promise.all(running);
  assert.equal(clock.pending, 0);
  assert.deepEqual([here.router.inFlight(), there.router.inFlight()], [0, 0]);
});

Deno.test("moveTarget asks for a free slot and a gain of 25 % + 20 ms + two hops", () => {
  const engines = [
    { digit: 1, hopMs: 0, queue: { slots: 1, runningMs: [9], waitingMs: [] } },
    { digit: 2, hopMs: 10, queue: { slots: 1, runningMs: [], waitingMs: [] } },
    { digit: 3, hopMs: 5, queue: { slots: 1, runningMs: [1], waitingMs: [] } },
  ].map(({ digit, hopMs, queue }) => ({
    key: `${digit}`,
    node: nodeIdOf(digit),
    nodeName: `${digit}`,
    engine: "fake",
    view: {
      availability: { kind: "available" as const },
      hop: { medianMs: hopMs, jitterMs: 0 },
      offers: [offerOf({ queue })],
      dispatchesSeen: 0,
    },
    unseenMs: () => [],
    bar: null,
  }));
  const placement = place({
    demand: {
      model: parseModelName("m"),
      capability: "chat",
      source: { kind: "unsaid" },
      promptTokens: 0,
      inputCount: 1,
      needs: [],
      expected: { meanTokens: 100, medianTokens: 100 },
    },
    engines,
    self: nodeIdOf(1),
    policy: "balanced",
    seed: 1,
  });
  assert(placement.kind === "placed");
  // 1,010 ms there, so 1,262.5 + 20 + two round trips of 2 and 10 ms.
  const target = (leftMs: number) =>
    moveTarget(placement.order, { key: "1", leftMs, hopMs: 2 })?.engine.key;
  assert.equal(target(1294), undefined);
  assert.equal(target(1295), "2");
  const queue = { slots: 1, runningMs: [100], waitingMs: [200, 300, 400] };
  assert.deepEqual([0, 1, 3].map((ahead) => waitBehind(queue, ahead)), [
    100,
    300,
    1000,
  ]);
});
