import assert from "node:assert/strict";
import { Fault, type RoutedAnswer } from "../../src/domain/mod.ts";
import type { OwnedRouter } from "../../src/router/mod.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { type Behaviour, setUpRouter } from "../fakes/router_setup.ts";
import {
  answering,
  answeringIn,
  nodeIdOf,
  offerOf,
  ROLE,
  type Script,
  text,
} from "../fakes/scripted_engine.ts";
import { until } from "../fakes/simulated_pair.ts";

const NEVER = new AbortController().signal;

function status(code: number, waitMs = 0): Script {
  return {
    kind: "answer",
    status: code,
    contentType: "application/json",
    ...(waitMs > 0 ? { waitMs } : {}),
    steps: ['{"error":{"message":"no"}}'],
  };
}

async function drain(answer: RoutedAnswer): Promise<string> {
  return await new Response(answer.body).text();
}

function breakerOf(router: OwnedRouter, node: number): string | undefined {
  return router.standing().find((one) => one.node === nodeIdOf(node))
    ?.engines[0]?.breaker;
}

Deno.test("mistakes of callers and their leaving open no breaker, and failures do (RTE-01)", async () => {
  for (const code of [400, 401, 404, 413, 422]) {
    const { router, local, peers, clock } = setUpRouter(
      (_, n) => n <= 20 ? status(code) : answering("good"),
      [() => answering("never")],
    );
    for (let n = 0; n < 20; n++) {
      const answer = await router.route(chatRequest(), NEVER);
      assert.equal(answer.status, code);
      await drain(answer);
    }
    assert.equal(peers[0]?.attempts.length, 0, "not tried elsewhere");
    assert.equal(breakerOf(router, 1), "closed");
    assert.match(await drain(await router.route(chatRequest(), NEVER)), /good/);
    assert.equal(local.attempts.length, 21);
    assert.equal(clock.pending, 0);
  }
  const leaving = setUpRouter((_, n) =>
    n <= 20
      ? { kind: "answer", steps: [ROLE, text("a"), { hang: true }] }
      : answering("good")
  );
  for (let n = 0; n < 20; n++) {
    const client = new AbortController();
    const answer = await leaving.router.route(chatRequest(), client.signal);
    const reader = answer.body.getReader();
    await reader.read();
    client.abort("left");
    await reader.read().catch(() => {});
    await leaving.clock.advance(0);
  }
  assert.equal(breakerOf(leaving.router, 1), "closed");
  await drain(await leaving.router.route(chatRequest(), NEVER));
  const failing = setUpRouter(() => status(500));
  for (let n = 0; n < 5; n++) {
    await assert.rejects(failing.router.route(chatRequest(), NEVER), {
      code: "engine_failed",
    });
  }
  assert.equal(breakerOf(failing.router, 1), "open");
});

Deno.test("an engine that fails at once attracts no traffic, and comes back when it is well (RTE-03)", async () => {
  for (const code of [503, 409]) {
    let isWell = false;
    const offers = [
      offerOf({ queue: { slots: 4, runningMs: [], waitingMs: [] } }),
    ];
    const { router, local, peers, clock } = setUpRouter(
      () => isWell ? answeringIn(1000, 100) : status(code, 5),
      [() => answeringIn(1000, 100)],
      { offers, policy: "balanced" },
    );
    const [peer] = peers;
    assert(peer !== undefined);
    peer.hop = { medianMs: 1, jitterMs: 0 };
    const before = estimateOfLocal(router, await ask(router, clock));
    let errors = 0;
    await Promise.all(Array.from({ length: 4 }, async () => {
      for (let n = 0; n < 25; n++) {
        await ask(router, clock).catch(() => errors++);
      }
    }));
    const all = local.attempts.length + peer.attempts.length;
    assert.equal(errors, 0);
    assert(
      peer.attempts.length / all > 0.95,
      `${peer.attempts.length} of ${all}`,
    );
    const after = estimateOfLocal(router, await ask(router, clock));
    assert(after >= before * 0.99, `${before} ms, then ${after} ms`);
    isWell = true;
    await clock.advance(60_000);
    const failed = local.attempts.length;
    for (let n = 0; n < 4; n++) await ask(router, clock);
    assert(local.attempts.length > failed, "it is used again");
  }
});

Deno.test("an engine that failed at once and is well again gets its share back by and by (RTE-03)", async () => {
  let isWell = false;
  const offers = [
    offerOf({ queue: { slots: 4, runningMs: [], waitingMs: [] } }),
  ];
  const { router, local, peers, clock } = setUpRouter(
    () => isWell ? answeringIn(1000, 100) : status(503, 5),
    [() => answeringIn(1000, 100)],
    { offers, policy: "balanced" },
  );
  const [peer] = peers;
  assert(peer !== undefined);
  peer.hop = { medianMs: 1, jitterMs: 0 };
  const pinned = chatRequest({ source: { kind: "local" } });
  for (let n = 0; n < 5; n++) {
    const answer = router.route(pinned, NEVER);
    answer.catch(() => {});
    await clock.advance(100);
    await assert.rejects(answer);
  }
  isWell = true;
  const failed = local.attempts.length;
  local.mostRunning = 0;
  /** What eight callers at a time have run here and there, batch by batch. */
  const shareOf = async (batches: number) => {
    const [here, there] = [local.attempts.length, peer.attempts.length];
    for (let n = 0; n < batches; n++) {
      await Promise.all(Array.from({ length: 8 }, () => ask(router, clock)));
    }
    const served = local.attempts.length - here;
    return served / (served + peer.attempts.length - there);
  };
  assert.equal(await shareOf(5), 0, "while its breaker is open");
  await clock.advance(30_000);
  const first = await shareOf(1);
  assert(first > 0 && first <= 1 / 8, `a probe at a time: ${first}`);
  assert.equal(local.mostRunning, 1);
  await shareOf(2);
  const last = await shareOf(10);
  assert(last >= 0.4 && last <= 0.6, `an equal share again: ${last}`);
  assert(local.attempts.length > failed + 40);
});

async function ask(
  router: OwnedRouter,
  clock: ReturnType<typeof setUpRouter>["clock"],
): Promise<RoutedAnswer> {
  const answer = await until(clock, router.route(chatRequest(), NEVER), 100);
  await until(clock, drain(answer), 100);
  return answer;
}

function estimateOfLocal(router: OwnedRouter, answer: RoutedAnswer): number {
  return router.decision(answer.decision)?.candidates.find((one) =>
    one.node === nodeIdOf(1)
  )?.estimateMs ?? NaN;
}

const HANGS: Behaviour = () => ({
  kind: "answer",
  steps: [{ hang: true }],
});

Deno.test("an engine whose probe is green and whose answers hang is taken out (PRC-06)", async () => {
  const { router, local, clock } = setUpRouter(HANGS, [
    () => answering("from the peer"),
  ]);
  for (let n = 1; n <= 5; n++) {
    const startedMs = clock.monotonic();
    const answer = await until(clock, router.route(chatRequest(), NEVER), 100);
    const words = await until(clock, drain(answer), 100);
    assert.match(words, /from the peer/);
    assert(clock.monotonic() - startedMs < 60_000);
  }
  assert.equal(local.view().availability.kind, "available", "still green");
  const stuck = local.attempts.length;
  assert.equal(stuck, 1, "one caller waited");
  for (let n = 0; n < 10; n++) {
    await drain(await router.route(chatRequest(), NEVER));
  }
  assert.equal(local.attempts.length, stuck, "traffic has moved");
});

Deno.test("a link's failures take out all engines of a member, an engine's only itself", async () => {
  const link = setUpRouter(() => answering("local"), [
    () => ({
      kind: "throw",
      at: "start",
      error: new Fault("link_failed", "The link broke"),
    }),
  ], { offers: [offerOf({ model: "other" })], peerOffers: [offerOf()] });
  for (let n = 0; n < 5; n++) {
    await assert.rejects(link.router.route(chatRequest(), NEVER));
  }
  const [, broken] = link.router.standing();
  assert.deepEqual(
    [broken?.breaker, broken?.engines[0]?.breaker],
    ["open", "closed"],
  );
  await link.clock.advance(30_000);
  assert.equal(link.router.standing()[1]?.breaker, "half_open");
});

Deno.test("a 429 rests one engine of a member and no other", async () => {
  const { router, clock } = setUpRouter(
    (_, n) =>
      n === 1 ? { ...status(429), retryAfter: "7" } as Script : answering("x"),
    [() => answering("y")],
  );
  await drain(await router.route(chatRequest(), NEVER));
  const [own, peer] = router.standing();
  assert.equal(own?.engines[0]?.restsForMs, 7000);
  assert.equal(own?.engines[0]?.breaker, "closed");
  assert.equal(peer?.engines[0]?.restsForMs, 0);
  await clock.advance(7000);
  assert.equal(router.standing()[0]?.engines[0]?.restsForMs, 0);
});

Deno.test("a draining node serves its clients through its peers and takes no peer's work", async () => {
  const { router, local, peers } = setUpRouter(() => answering("x"), [
    () => answering("y"),
  ]);
  router.drain(true);
  assert.match(await drain(await router.route(chatRequest(), NEVER)), /y/);
  assert.equal(local.attempts.length, 0);
  const [attempt] = peers[0]?.attempts ?? [];
  assert(attempt !== undefined);
  const answer = await router.serve("fake", attempt, NEVER);
  assert(answer.kind === "refused" && answer.reason === "draining");
  assert.equal(router.report().draining, true);
  router.drain(false);
  assert.match(await drain(await router.route(chatRequest(), NEVER)), /x/);
});
