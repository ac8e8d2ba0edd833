import assert from "node:assert/strict";
import {
  type Attempt,
  type Engine,
  type EngineView,
  type Fault,
  parseDecisionId,
  type StartResult,
} from "../../src/domain/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { createRouter, type OwnedRouter } from "../../src/router/mod.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { CountingMetrics } from "../fakes/counting_metrics.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import { setUpRouter } from "../fakes/router_setup.ts";
import {
  answering,
  answeringIn,
  DONE,
  event,
  finish,
  nodeIdOf,
  offerOf,
  ROLE,
  ScriptedEngine,
  text,
} from "../fakes/scripted_engine.ts";

const NEVER = new AbortController().signal;

/** A peer's engine as the link would show it: its report as of the last poll, its `serve` at hand. */
class Link implements Engine {
  readonly node = nodeIdOf(2);
  readonly nodeName = "node-2";
  readonly id = "fake";
  readonly served: Attempt[] = [];
  readonly #peer: OwnedRouter;
  #view: EngineView | null = null;

  constructor(peer: OwnedRouter) {
    this.#peer = peer;
    this.poll();
  }

  poll(): void {
    const { engines, dispatchesSeen } = this.#peer.report();
    this.#view = {
      availability: { kind: "available" },
      hop: { medianMs: 1, jitterMs: 0 },
      offers: engines[0]?.offers ?? [],
      dispatchesSeen: dispatchesSeen[nodeIdOf(1)] ?? 0,
    };
  }

  view(): EngineView {
    if (this.#view === null) throw new RangeError("not polled");
    return this.#view;
  }

  start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    this.served.push(attempt);
    return this.#peer.serve("fake", attempt, signal);
  }
}

function nodeWith(
  clock: ManualClock,
  digit: number,
  peers: () => readonly Engine[],
): { router: OwnedRouter; engine: ScriptedEngine } {
  const engine = new ScriptedEngine({
    clock,
    node: nodeIdOf(digit),
    offers: [offerOf()],
    script: () => answeringIn(1000, 100),
  });
  const router = createRouter({
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
  return { router, engine };
}

Deno.test("two equal nodes under balanced share 8 requests at concurrency 4 evenly, although the status is stale", async () => {
  const clock = new ManualClock();
  const there = nodeWith(clock, 2, () => []);
  const link = new Link(there.router);
  const here = nodeWith(clock, 1, () => [link]);
  const request = chatRequest();
  let left = 8;
  async function client(): Promise<void> {
    while (left-- > 0) {
      const answer = await here.router.route(request, NEVER);
      assert((await new Response(answer.body).text()).endsWith(DONE));
    }
  }
  const all = Promise.all([client(), client(), client(), client()]);
  // Nobody polls: only numbered own dispatches tell how busy the peer is.
  await clock.advance(4100);
  await all;
  assert.equal(here.engine.attempts.length, 4);
  assert.equal(there.engine.attempts.length, 4);
  link.poll();
  assert.equal(link.view().dispatchesSeen, 4);
  assert.deepEqual([here.engine.mostRunning, there.engine.mostRunning], [1, 1]);
  assert.deepEqual([here.router.inFlight(), there.router.inFlight()], [0, 0]);
  assert.equal(clock.pending, 0);
});

Deno.test("serve runs a peer's attempt once, on this node's engines only", async () => {
  const { clock, router, local, peers } = setUpRouter(
    () => answering("x"),
    [() => answering("y")],
  );
  const attempt = { ...buildAttempt("m"), entry: nodeIdOf(3), dispatch: 12 };
  const first = await router.serve("fake", attempt, NEVER);
  assert(first.kind === "accepted");
  assert.equal(router.inFlight(), 1);
  const body = first.answer().then((answer) =>
    new Response(answer.body).text()
  );
  const again = await router.serve("fake", attempt, NEVER);
  assert(again.kind === "refused" && again.reason === "duplicate_attempt");
  await clock.advance(1);
  assert((await body).endsWith(DONE));
  assert.deepEqual([local.attempts.length, peers[0]?.attempts.length], [1, 0]);
  assert.deepEqual(router.report().dispatchesSeen, { [nodeIdOf(3)]: 12 });
  const elsewhere = await router.serve("peer", {
    ...buildAttempt("m"),
    id: `${attempt.id}1` as Attempt["id"],
  }, NEVER);
  assert(elsewhere.kind === "refused");
  assert.equal(elsewhere.reason, "model_not_here");
  assert.equal(router.inFlight(), 0);
});

Deno.test("route records the decision with terms, attempts and what came of it, and no text", async () => {
  const usage = { prompt_tokens: 12, completion_tokens: 40 };
  const { clock, router, metrics } = setUpRouter(
    () => ({ kind: "answer", status: 500, steps: [] }),
    [() => ({
      kind: "answer",
      steps: [
        ROLE,
        { waitMs: 300 },
        text("secret words"),
        { waitMs: 400 },
        finish(),
        event({ choices: [], usage }),
        DONE,
      ],
    })],
  );
  const answer = router.route(chatRequest(), NEVER);
  await clock.advance(300);
  const body = new Response((await answer).body).text();
  await clock.advance(400);
  assert(!(await body).includes("usage"));
  const record = router.decision((await answer).decision);
  assert(record !== undefined);
  assert.equal(parseDecisionId(record.id), record.id);
  assert.deepEqual(record.chosen, {
    node: nodeIdOf(1),
    engine: "fake",
    model: "m",
  });
  assert.equal(record.predictedMs, 1010);
  assert.equal(record.predictedP80Ms, 1010);
  assert.equal((await answer).predictedMs, 1210);
  assert.deepEqual(
    record.candidates.map((
      { node, eligible, terms },
    ) => [node, eligible, terms.hopMs]),
    [[nodeIdOf(1), true, 0], [nodeIdOf(2), true, 200]],
  );
  assert.deepEqual(
    record.attempts.map((
      { id, outcome, dispatch, endedAtMs },
    ) => [id, outcome, dispatch, endedAtMs]),
    [[`${record.id}.1`, "failed", 1, 0], [
      `${record.id}.2`,
      "answered",
      1,
      700,
    ]],
  );
  assert.deepEqual(record.actual, {
    ttftMs: 300,
    totalMs: 700,
    outputTokens: 40,
    promptTokens: 12,
  });
  assert(!JSON.stringify(record).includes("secret"));
  // 10 + 200 ms, then 40 tokens at 10 ms, against 700 ms.
  const [error] =
    metrics.observations.get("covey_prediction_error_ratio{figure=total}") ??
      [];
  assert(Math.abs((error ?? 0) - 90 / 700) < 1e-9);
  assert.deepEqual(
    metrics.observations.get(
      "gen_ai_server_time_to_first_token_seconds{served_by=peer}",
    ),
    [0.3],
  );
});

Deno.test("route learns lengths, and falls back to what peers have seen", async () => {
  const learned = {
    ...offerOf().rates,
    observations: 9,
    expectedOutputTokens: 33,
  };
  const { clock, router } = setUpRouter(() => answering("a", "b"), [], {
    offers: [offerOf({ rates: learned })],
  });
  const expected: (number | undefined)[] = [];
  for (let n = 0; n < 2; n++) {
    const answer = await router.route(
      chatRequest({ maxOutputTokens: null }),
      NEVER,
    );
    expected.push(router.decision(answer.decision)?.expectedOutputTokens);
    await new Response(answer.body).text();
  }
  assert.deepEqual(expected, [33, 2]);
  assert.equal(clock.pending, 0);
});

Deno.test("route answers with a fault and keeps the decision when there is no candidate", async () => {
  const { router, metrics } = setUpRouter(() => answering("x"));
  await assert.rejects(
    router.route(chatRequest({ model: "nothing" }), NEVER),
    (fault: Fault) => {
      assert.equal(fault.code, "model_not_found");
      assert(fault.decision !== null);
      assert.equal(router.decision(fault.decision)?.chosen, null);
      return true;
    },
  );
  await assert.rejects(
    router.route(chatRequest({ capability: "embedding" }), NEVER),
    { code: "wrong_capability" },
  );
  assert.equal(
    metrics.counts.get("covey_requests_total{outcome=failed,capability=chat}"),
    1,
  );
  assert.equal(router.inFlight(), 0);
});

Deno.test("models merges what all engines offer, without those that are away", () => {
  const { router, peers } = setUpRouter(() => answering("x"), [
    () => answering("y"),
    () => answering("z"),
  ], {
    offers: [offerOf({ state: { kind: "cold" } })],
    peerOffers: [
      offerOf({ contextLength: 16_384, features: ["tools"], root: "r" }),
      offerOf({
        model: "e",
        capabilities: ["embedding"],
        root: "e",
        sizeBytes: 9,
      }),
    ],
  });
  const [, away] = peers;
  assert(away !== undefined);
  away.availability = { kind: "unavailable", reason: "offline" };
  assert.deepEqual(router.models(), [
    {
      model: "e",
      capabilities: ["embedding"],
      nodes: [nodeIdOf(2)],
      contextLength: 8192,
      warm: true,
      features: [],
      sizeBytes: 9,
      root: "e",
    },
    {
      model: "m",
      capabilities: ["chat"],
      nodes: [nodeIdOf(1), nodeIdOf(2)],
      contextLength: 16_384,
      warm: true,
      // Weights that differ have no root in common.
      features: ["tools"],
    },
  ]);
});
