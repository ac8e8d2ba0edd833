import assert from "node:assert/strict";
import type {
  InferenceRequest,
  JsonObject,
  RoutedAnswer,
} from "../../src/domain/mod.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { setUpRouter } from "../fakes/router_setup.ts";
import { nodeIdOf, offerOf, type Script } from "../fakes/scripted_engine.ts";
import { CHAT, simulatedNodes, until } from "../fakes/simulated_pair.ts";

const NEVER = new AbortController().signal;

function embeddingRequest(
  inputs: number,
  tokensEach: number,
): InferenceRequest {
  return chatRequest({
    capability: "embedding",
    model: "e",
    stream: false,
    body: {
      input: Array.from({ length: inputs }, (_, at) => `input ${at % 10}`),
    },
    promptTokens: inputs * tokensEach,
    maxOutputTokens: null,
    inputCount: inputs,
  });
}

async function jsonOf(answer: RoutedAnswer): Promise<JsonObject> {
  return JSON.parse(await new Response(answer.body).text());
}

const EMBEDDING = { ...CHAT, id: "e", capability: "embedding" } as const;

async function tookMs(nodes: number, inputs: number): Promise<number> {
  await using setup = simulatedNodes({
    models: [EMBEDDING],
    faults: Array.from({ length: nodes }, () => ({})),
    router: { policy: "local_first" },
  });
  const { clock, router } = setup;
  const answer = await until(
    clock,
    router.route(embeddingRequest(inputs, 10), NEVER),
    1,
  );
  const json = await jsonOf(answer);
  assert(Array.isArray(json.data));
  assert.equal(json.data.length, inputs);
  return clock.monotonic();
}

Deno.test("route divides 32 inputs of one caller over an equal pair, more than 1.5 times as fast", async () => {
  const alone = await tookMs(1, 32);
  const pair = await tookMs(2, 32);
  assert(alone / pair >= 1.5, `${alone} ms alone, ${pair} ms divided`);
});

Deno.test("route keeps order and usage of divided inputs and records the attempts", async () => {
  await using whole = simulatedNodes({ models: [EMBEDDING], faults: [{}] });
  await using split = simulatedNodes({ models: [EMBEDDING], faults: [{}, {}] });
  const request = embeddingRequest(32, 10);
  const expected = await jsonOf(
    await until(whole.clock, whole.router.route(request, NEVER)),
  );
  const answer = await until(split.clock, split.router.route(request, NEVER));
  assert.deepEqual(await jsonOf(answer), expected);
  const record = split.router.decision(answer.decision);
  assert.deepEqual(
    record?.attempts.map(({ node, part, outcome }) => [node, part, outcome]),
    [
      [nodeIdOf(1), { from: 0, count: 16 }, "answered"],
      [nodeIdOf(2), { from: 16, count: 16 }, "answered"],
    ],
  );
  assert.equal(new Set(record?.attempts.map(({ id }) => id)).size, 2);
  assert(Math.abs(answer.predictedMs - 161) < 5, `${answer.predictedMs} ms`);
  assert.equal(
    split.metrics.counts.get(
      "covey_requests_total{outcome=answered,capability=embedding}",
    ),
    1,
  );
  assert.equal(split.router.inFlight(), 0);
});

Deno.test("route leaves inputs whole where dividing gains nothing", async () => {
  await using setup = simulatedNodes({
    models: [EMBEDDING],
    faults: [{}, {}],
    hopMs: 400,
  });
  const answer = await until(
    setup.clock,
    setup.router.route(embeddingRequest(32, 10), NEVER),
  );
  assert.equal(setup.router.decision(answer.decision)?.attempts.length, 1);
  await jsonOf(answer);
});

const EMBED_OFFER = offerOf({ model: "e", capabilities: ["embedding"] });

function vectors(count: number): Script {
  const data = Array.from({ length: count }, (_, index) => ({
    index,
    embedding: [index + 1],
  })).toReversed();
  return {
    kind: "answer",
    contentType: "application/json",
    steps: [JSON.stringify({
      data,
      usage: { prompt_tokens: count, total_tokens: count },
    })],
  };
}

Deno.test("a part that fails or answers short goes to another engine, the others stay (EMB-03)", async () => {
  for (
    const first of [
      { kind: "throw", at: "answer", error: new Error("broke") },
      vectors(1),
      {
        kind: "answer",
        contentType: "application/json",
        steps: ['{"data":[{"embedding":[]}]}'],
      },
    ] as const
  ) {
    const { router, local, peers, clock } = setUpRouter(
      ({ request }) => vectors(request.inputCount),
      [({ request }, n) => n === 1 ? first : vectors(request.inputCount)],
      { offers: [EMBED_OFFER] },
    );
    const [peer] = peers;
    assert(peer !== undefined);
    peer.hop = { medianMs: 1, jitterMs: 0 };
    const json = await jsonOf(
      await router.route(embeddingRequest(4, 1000), NEVER),
    );
    assert(Array.isArray(json.data));
    assert.deepEqual(
      json.data.map((item) => (item as JsonObject).index),
      [0, 1, 2, 3],
    );
    assert.deepEqual(
      json.data.map((item) => (item as JsonObject).embedding),
      [[1], [2], [1], [2]],
    );
    assert.deepEqual(json.usage, { prompt_tokens: 4, total_tokens: 4 });
    assert.equal(local.attempts.length, 2, "its own part and the lost one");
    assert.equal(peer.attempts.length, 1);
    assert.equal(router.inFlight(), 0);
    assert.equal(clock.pending, 0);
  }
});

Deno.test("a part that its engine refuses is the answer to the whole, and the others stop", async () => {
  const { router, local, peers, clock } = setUpRouter(
    () => ({
      kind: "answer",
      contentType: "application/json",
      waitMs: 60_000,
      steps: [],
    }),
    [({ request }) =>
      request.inputCount === 4 ? vectors(4) : {
        kind: "answer",
        status: 400,
        contentType: "application/json",
        steps: ['{"error":{"message":"too long"}}'],
      }],
    { offers: [EMBED_OFFER] },
  );
  const [peer] = peers;
  assert(peer !== undefined);
  peer.hop = { medianMs: 1, jitterMs: 0 };
  const answer = await router.route(embeddingRequest(4, 1000), NEVER);
  assert.equal(answer.status, 400, "the engine's own words");
  await clock.advance(0);
  assert.equal(local.attempts.length, 1);
  assert.equal(local.running, 0, "the other part's engine has stopped");
  assert.equal(router.inFlight(), 0);
});

const RERANK = { ...CHAT, id: "r", capability: "rerank" } as const;

function rerankRequest(documents: readonly string[]): InferenceRequest {
  return chatRequest({
    capability: "rerank",
    model: "r",
    stream: false,
    body: { query: "red fox on ice", documents },
    promptTokens: documents.length * 10,
    maxOutputTokens: null,
    inputCount: documents.length,
  });
}

Deno.test("route divides documents to rank, and keeps scores, order and usage", async () => {
  const words = ["red", "fox", "on", "ice", "blue", "crow"];
  const documents = Array.from(
    { length: 32 },
    (_, at) => words.slice(at % 5, at % 5 + at % 3 + 1).join(" "),
  );
  const request = rerankRequest(documents);
  await using whole = simulatedNodes({ models: [RERANK], faults: [{}] });
  await using split = simulatedNodes({ models: [RERANK], faults: [{}, {}] });
  const expected = await jsonOf(
    await until(whole.clock, whole.router.route(request, NEVER)),
  );
  const answer = await until(split.clock, split.router.route(request, NEVER));
  assert.deepEqual(await jsonOf(answer), expected);
  const parts = split.router.decision(answer.decision)?.attempts;
  assert.deepEqual(
    parts?.map(({ node, outcome }) => [node, outcome]),
    [[nodeIdOf(1), "answered"], [nodeIdOf(2), "answered"]],
  );
  assert.equal(
    parts?.reduce((sum, { part }) => sum + (part?.count ?? 0), 0),
    32,
  );
  assert(whole.clock.monotonic() / split.clock.monotonic() >= 1.5);
});

function scores(...indexes: readonly (number | undefined)[]): Script {
  return {
    kind: "answer",
    contentType: "application/json",
    steps: [JSON.stringify({
      results: indexes.map((index, at) => ({
        index,
        relevance_score: 1 / (at + 1),
      })),
    })],
  };
}

Deno.test("a part's ranking without an index, or with one twice, goes to another engine", async () => {
  for (const first of [scores(0, undefined), scores(1, 1), scores(0)]) {
    const { router, local, peers } = setUpRouter(
      () => scores(1, 0),
      [(_, n) => n === 1 ? first : scores(1, 0)],
      {
        offers: [offerOf({ model: "r", root: "w", capabilities: ["rerank"] })],
      },
    );
    const [peer] = peers;
    assert(peer !== undefined);
    peer.hop = { medianMs: 1, jitterMs: 0 };
    const request = rerankRequest(["a", "b", "c", "d"]);
    const json = await jsonOf(
      await router.route({ ...request, promptTokens: 4_000 }, NEVER),
    );
    assert.deepEqual(json.results, [
      { index: 0, relevance_score: 0.5 },
      { index: 1, relevance_score: 1 },
      { index: 2, relevance_score: 0.5 },
      { index: 3, relevance_score: 1 },
    ]);
    assert.equal(local.attempts.length, 2);
    assert.equal(peer.attempts.length, 1);
  }
});

Deno.test("documents are not divided over servers whose weights nobody knows", async () => {
  const { router, peers } = setUpRouter(
    ({ request }) =>
      scores(...Array.from({ length: request.inputCount }).keys()),
    [() => scores(0)],
    { offers: [offerOf({ model: "r", root: null, capabilities: ["rerank"] })] },
  );
  const [peer] = peers;
  assert(peer !== undefined);
  peer.hop = { medianMs: 1, jitterMs: 0 };
  const request = rerankRequest(["a", "b", "c", "d"]);
  await jsonOf(await router.route({ ...request, promptTokens: 4_000 }, NEVER));
  assert.equal(peer.attempts.length, 0);
});
