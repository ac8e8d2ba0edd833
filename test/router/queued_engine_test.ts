import assert from "node:assert/strict";
import type { Attempt, Offer, StartResult } from "../../src/domain/mod.ts";
import { ManualClock } from "../../src/platform/mod.ts";
import { DeviceQueues } from "../../src/router/device_queues.ts";
import { QueuedEngine } from "../../src/router/queued_engine.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import {
  answeringIn,
  DONE,
  event,
  nodeIdOf,
  offerOf,
  type Script,
  ScriptedEngine,
  text,
} from "../fakes/scripted_engine.ts";

function setUp(
  script: (attempt: Attempt, n: number) => Script,
  options: { readonly maxQueue?: number; readonly offers?: readonly Offer[] } =
    {},
) {
  const clock = new ManualClock();
  const raw = new ScriptedEngine({
    clock,
    node: nodeIdOf(1),
    offers: options.offers ?? [offerOf()],
    script,
  });
  const queues = new DeviceQueues(clock);
  const engine = new QueuedEngine(raw, {
    clock,
    queues,
    maxQueue: options.maxQueue ?? 64,
  });
  return { clock, raw, queues, engine };
}

function accepted(result: StartResult) {
  assert(result.kind === "accepted", JSON.stringify(result));
  return result;
}

async function read(result: StartResult): Promise<string> {
  const answer = await accepted(result).answer();
  return await new Response(answer.body).text();
}

const NEVER = new AbortController().signal;
const ATTEMPT = buildAttempt("m");

Deno.test("QueuedEngine hands its engine no more than it has slots, and frees a slot at the body's end", async () => {
  const offers = [
    offerOf({ queue: { slots: 2, runningMs: [], waitingMs: [] } }),
  ];
  const { clock, raw, engine } = setUp(() => answeringIn(100, 8), { offers });
  const started = await Promise.all(
    [1, 2, 3, 4, 5].map(() => engine.start(ATTEMPT, NEVER)),
  );
  const last = started.at(-1);
  assert(last !== undefined);
  assert.deepEqual(
    accepted(last).queue.waitingMs.length,
    3,
  );
  const bodies = Promise.all(started.map(read));
  await clock.advance(1000);
  assert((await bodies).every((body) => body.endsWith(DONE)));
  assert.equal(raw.mostRunning, 2);
  assert.equal(engine.heldFor(() => true), 0);
  assert.equal(clock.pending, 0);
});

Deno.test("QueuedEngine refuses what exceeds its queue, and says when to come back", async () => {
  const { clock, engine } = setUp(() => answeringIn(100, 8), { maxQueue: 1 });
  const running = await engine.start(ATTEMPT, NEVER);
  const waiting = await engine.start(ATTEMPT, NEVER);
  const over = await engine.start(ATTEMPT, NEVER);
  assert(over.kind === "refused" && over.reason === "queue_full");
  // Two attempts of 100 prompt tokens and 10 output tokens each.
  assert.equal(over.retryAfterMs, 400);
  const bodies = Promise.all([read(running), read(waiting)]);
  await clock.advance(500);
  await bodies;
  const elsewhere = await engine.start(buildAttempt("other"), NEVER);
  assert(elsewhere.kind === "refused");
  assert.equal(elsewhere.reason, "model_not_here");
});

Deno.test("QueuedEngine lets a withdrawn attempt go at once, waiting or running (SSE-11)", async () => {
  const { clock, raw, engine } = setUp(() => ({
    kind: "answer",
    steps: [text("a"), { hang: true }],
  }));
  const withdraw = [new AbortController(), new AbortController()];
  const [running, waiting] = await Promise.all(
    withdraw.map((one) => engine.start(ATTEMPT, one.signal)),
  );
  assert(running !== undefined && waiting !== undefined);
  const body = accepted(running).answer();
  await clock.advance(0);
  const never = assert.rejects(accepted(waiting).answer());
  withdraw[1]?.abort(new Error("gone"));
  await never;
  assert.equal(raw.attempts.length, 1);
  const reader = (await body).body.getReader();
  await reader.read();
  const pending = assert.rejects(reader.read());
  withdraw[0]?.abort(new Error("gone"));
  await pending;
  await clock.advance(0);
  assert.equal(raw.running, 0);
  assert.equal(engine.heldFor(() => true), 0);
  assert.equal(clock.pending, 0);
});

Deno.test("QueuedEngine gives the slot of a failing engine to the next", async () => {
  const { clock, raw, engine } = setUp((_, n) =>
    n === 1
      ? { kind: "throw", at: "answer", error: new Error("broke") }
      : n === 2
      ? { kind: "answer", steps: [text("a"), { fail: new Error("broke") }] }
      : answeringIn(1, 8)
  );
  const started = await Promise.all(
    [1, 2, 3].map(() => engine.start(ATTEMPT, NEVER)),
  );
  const settled = Promise.allSettled(started.map(read));
  await clock.advance(100);
  assert.deepEqual((await settled).map((one) => one.status), [
    "rejected",
    "rejected",
    "fulfilled",
  ]);
  assert.equal(raw.mostRunning, 1);
});

Deno.test("QueuedEngine shows its queue and what it learned from timings", async () => {
  const timings = {
    prompt_n: 50,
    cache_n: 50,
    // The first token is there with the end of the prefill: nine steps to the last.
    prompt_ms: 55,
    predicted_n: 10,
    predicted_ms: 270,
  };
  const { clock, engine } = setUp(() => ({
    kind: "answer",
    steps: [
      text("a"),
      { waitMs: 300 },
      event({
        choices: [{ delta: {}, finish_reason: "length" }],
        timings,
        usage: { prompt_tokens: 100, completion_tokens: 10 },
      }),
      DONE,
    ],
  }));
  const [first] = engine.view().offers;
  assert.deepEqual(first?.queue, { slots: 1, runningMs: [], waitingMs: [] });
  const body = read(await engine.start(ATTEMPT, NEVER));
  await clock.advance(50);
  // 100 tokens at 1,000/s and 10 at 10 ms, 50 ms ago.
  assert.deepEqual(engine.view().offers[0]?.queue.runningMs, [150]);
  await clock.advance(300);
  await body;
  const learned = engine.view().offers[0];
  assert.equal(learned?.rates.observations, 1);
  assert.equal(Math.round(learned?.rates.tpotMs[0] ?? 0), 30);
  assert.equal(Math.round(learned?.rates.prefillTokensPerSecond ?? 0), 2000);
  assert.equal(engine.view().dispatchesSeen, Infinity);
});

Deno.test("QueuedEngine learns from gaps where there are no timings, and embeddings by elapsed time", async () => {
  const chat = setUp(() => ({
    kind: "answer",
    steps: [
      { waitMs: 220 },
      text("a"),
      ...[1, 2, 3, 4].flatMap(() => [{ waitMs: 20 }, text("b")]),
      DONE,
    ],
  }));
  const body = read(await chat.engine.start(ATTEMPT, NEVER));
  await chat.clock.advance(400);
  await body;
  const rates = chat.engine.view().offers[0]?.rates;
  assert.equal(Math.round(rates?.prefillTokensPerSecond ?? 0), 500);
  assert.equal(Math.round(rates?.tpotMs[0] ?? 0), 20);

  const embedding = setUp(() => ({
    kind: "answer",
    waitMs: 400,
    contentType: "application/json",
    steps: ["{}"],
  }));
  const attempt = buildAttempt("m", { capability: "embedding", stream: false });
  const vectors = read(await embedding.engine.start(attempt, NEVER));
  await embedding.clock.advance(400);
  await vectors;
  const [offer] = embedding.engine.view().offers;
  assert.equal(Math.round(offer?.rates.prefillTokensPerSecond ?? 0), 250);
});

Deno.test("QueuedEngine ends what waits and what runs when it is disposed", async () => {
  const { clock, raw, engine } = setUp(() => answeringIn(10_000, 8));
  const started = await Promise.all(
    [1, 2].map(() => engine.start(ATTEMPT, NEVER)),
  );
  const bodies = started.map((one) => assert.rejects(read(one)));
  await clock.advance(1);
  engine[Symbol.dispose]();
  await Promise.all(bodies);
  await clock.advance(0);
  assert.equal(raw.running, 0);
  assert.equal(clock.pending, 0);
});
