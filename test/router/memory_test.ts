import assert from "node:assert/strict";
import { Fault, type Offer } from "../../src/domain/mod.ts";
import type { Demand, EngineSnapshot } from "../../src/router/candidate.ts";
import { parseModelName } from "../../src/router/model_name.ts";
import { place } from "../../src/router/place.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { setUpRouter } from "../fakes/router_setup.ts";
import { nodeIdOf, offerOf } from "../fakes/scripted_engine.ts";

const never = new AbortController().signal;
const COLD = { kind: "cold" } as const;

function engine(node: number, offer: Partial<Offer>): EngineSnapshot {
  return {
    key: `${node}/e`,
    node: nodeIdOf(node),
    nodeName: `node-${node}`,
    engine: "e",
    view: {
      availability: { kind: "available" },
      hop: { medianMs: 0, jitterMs: 0 },
      offers: [offerOf(offer)],
      dispatchesSeen: Infinity,
    },
    unseenMs: () => [],
    bar: null,
  };
}

function placed(demand: Partial<Demand>, engines: readonly EngineSnapshot[]) {
  return place({
    demand: {
      model: parseModelName("m"),
      capability: "chat",
      source: { kind: "unsaid" },
      promptTokens: 100,
      inputCount: 1,
      needs: [],
      expected: { meanTokens: 10, medianTokens: 10 },
      ...demand,
    },
    engines,
    self: nodeIdOf(1),
    policy: "balanced",
    seed: 1,
  });
}

const LARGE = { reason: "needs 9.0 GB", retryInMs: null };
const SHORT = { reason: "needs 9.0 GB, 3.0 GB are free", retryInMs: 5_000 };

Deno.test("place never chooses a member that the model does not fit, and says why (HW-03)", () => {
  const placement = placed({}, [
    engine(1, { state: COLD, misfit: LARGE }),
    engine(2, { state: COLD }),
  ]);
  assert.equal(placement.kind, "placed");
  assert.deepEqual(placement.order.map(({ engine: one }) => one.key), ["2/e"]);
  const [local] = placement.candidates;
  assert.deepEqual([local?.eligible, local?.reason], [false, "needs 9.0 GB"]);
});

Deno.test("a model that fits nowhere is refused for good, or for as long as others hold the memory", () => {
  const nowhere = (misfits: readonly NonNullable<Offer["misfit"]>[]) => {
    const placement = placed(
      {},
      misfits.map((misfit, at) => engine(at + 1, { state: COLD, misfit })),
    );
    assert.equal(placement.kind, "nowhere");
    return placement.fault;
  };
  const large = nowhere([LARGE]);
  assert.equal(large.code, "model_too_large");
  assert.match(
    large.message,
    /"m" fits into no memory in reach: it needs 9\.0 GB$/,
  );
  const short = nowhere([LARGE, SHORT]);
  assert.equal(short.code, "insufficient_memory");
  assert.equal(short.retryAfterMs, 5_000);
});

Deno.test("a request goes where it can have the context it asks for, and is told what there is else", () => {
  const engines = [
    engine(1, { contextLength: 4_096 }),
    engine(2, { contextLength: 4_096, contextLimit: 32_768 }),
  ];
  const fits = placed({ contextLength: 16_384, promptTokens: 10_000 }, engines);
  assert.equal(fits.kind, "placed");
  assert.deepEqual(fits.order.map(({ engine: one }) => one.key), ["2/e"]);
  const beyond = placed({ contextLength: 65_536 }, engines);
  assert.equal(beyond.kind, "nowhere");
  assert.equal(beyond.fault.code, "context_length_exceeded");
  assert.equal(beyond.fault.param, "num_ctx");
  assert.match(
    beyond.fault.message,
    /can have \d+ tokens of context, 65536 were asked for/,
  );
});

Deno.test("a request that only loads goes to any model, whatever that is for", () => {
  const embeds = [engine(1, { capabilities: ["embedding"], state: COLD })];
  assert.equal(placed({}, embeds).kind, "nowhere");
  assert.equal(placed({ loadsOnly: true }, embeds).kind, "placed");
});

const SAYS = (said: unknown) => () => ({
  kind: "answer" as const,
  contentType: "application/json",
  steps: [JSON.stringify(said)],
});

Deno.test("unload asks every engine in reach that has the model in memory, and tells what each did", async () => {
  const { local, peers, router } = setUpRouter(
    SAYS({ unloaded: true }),
    [SAYS({ unloaded: false, reason: "in use" }), SAYS({ choices: [] })],
  );
  const order = { source: { kind: "cluster" }, evenPinned: true } as const;
  const outcomes = await router.unload("m:latest", order, never);
  // The scripted local engine does not say that it can let go of anything.
  assert.deepEqual(
    outcomes.map(({ nodeName, reason, unloaded }) => [
      nodeName,
      unloaded,
      reason,
    ]),
    [
      [local.nodeName, false, "This engine unloads nothing when asked"],
      [peers[0]?.nodeName, false, "in use"],
      [peers[1]?.nodeName, false, "This engine unloads nothing when asked"],
    ],
  );
  assert.deepEqual(local.attempts, []);
  assert.deepEqual(peers[0]?.attempts[0]?.request.upkeep, {
    only: "unload",
    evenPinned: true,
  });
  const one = await router.unload("m", {
    source: { kind: "node", node: peers[1]?.node ?? "" },
    evenPinned: false,
  }, never);
  assert.equal(one.length, 1);
  const [, attic] = peers;
  assert.ok(attic);
  for (
    const [model, source, code, words] of [
      [
        "nobody",
        order.source,
        "model_not_found",
        '"nobody" does not exist here',
      ],
      [
        "nobody",
        { kind: "node", node: attic.node },
        "model_not_found",
        `"nobody" does not exist on "${attic.nodeName}"`,
      ],
      ["m", { kind: "node", node: "cellar" }, "not_found", '"cellar"'],
    ] as const
  ) {
    await assert.rejects(
      router.unload(model, { ...order, source }, never),
      (error) =>
        error instanceof Fault && error.code === code &&
        error.message.includes(words),
    );
  }
  await router[Symbol.asyncDispose]();
});

Deno.test("a request that only unloads is answered without a word, and ends no pin", async () => {
  const { peers, router } = setUpRouter(
    SAYS({ unloaded: true }),
    [SAYS({ unloaded: true })],
  );
  const routed = await router.route(
    chatRequest({ stream: false, upkeep: { keepAliveMs: 0, only: "unload" } }),
    never,
  );
  assert.equal(routed.status, 200);
  const { choices } = await new Response(routed.body).json();
  assert.equal(choices[0].message.content, "");
  const [attempt] = peers[0]?.attempts ?? [];
  assert.deepEqual(attempt?.request.upkeep, {
    only: "unload",
    evenPinned: false,
  });
  await router[Symbol.asyncDispose]();
});

Deno.test("what a caller wants of the model in memory travels with every attempt", async () => {
  const upkeep = { keepAliveMs: null, contextLength: 8_192 };
  const { local, router } = setUpRouter(() => ({
    kind: "answer",
    contentType: "application/json",
    steps: ['{"choices":[{"index":0,"message":{"content":"hi"}}]}'],
  }));
  const routed = await router.route(
    chatRequest({ stream: false, upkeep }),
    never,
  );
  await new Response(routed.body).text();
  assert.deepEqual(local.attempts[0]?.request.upkeep, upkeep);
  await router[Symbol.asyncDispose]();
});
