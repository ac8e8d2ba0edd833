import assert from "node:assert/strict";
import type { Offer } from "../../src/domain/mod.ts";
import { AnswerMeter } from "../../src/router/answer_meter.ts";
import { observationOf, workOf } from "../../src/router/answer_observation.ts";
import type { EngineSnapshot } from "../../src/router/candidate.ts";
import { estimate, serviceMs } from "../../src/router/estimate.ts";
import { parseModelName } from "../../src/router/model_name.ts";
import { place } from "../../src/router/place.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { event, nodeIdOf, offerOf } from "../fakes/scripted_engine.ts";

const WORK = {
  capability: "chat",
  promptTokens: 100,
  outputTokens: 50,
} as const;
const HERE = {
  availability: { kind: "available" },
  hop: { medianMs: 0, jitterMs: 0 },
  unseenMs: [],
} as const;
/** A warm model with 4,096 tokens that may have more, loaded in 4 s. */
const SMALL: Partial<Offer> = { contextLength: 4_096, contextLimit: 32_768 };

Deno.test("estimate prices the load of a warm model that must have more context, once nobody uses it", () => {
  const queue = { slots: 4, runningMs: [700, 300], waitingMs: [] };
  const rates = { ...offerOf().rates, tpotMs: [10, 12, 15] };
  const offer = offerOf({ ...SMALL, queue, rates });
  const stays = estimate({
    ...HERE,
    offer,
    work: { ...WORK, cachedTokens: 90 },
  });
  assert.deepEqual(
    [stays.terms.queueMs, stays.terms.loadMs, stays.terms.prefillMs],
    [0, 0, 10],
  );
  assert.equal(stays.terms.decodeMs, 50 * 15);
  const grows = estimate({
    ...HERE,
    offer,
    work: { ...WORK, cachedTokens: 90, reloads: true },
  });
  // What was cached goes with the old one, and the new one has no company yet.
  assert.deepEqual(
    [grows.terms.queueMs, grows.terms.loadMs, grows.terms.prefillMs],
    [700, 4_000, 100],
  );
  assert.equal(grows.terms.decodeMs, 50 * 10);
});

Deno.test("a load for more context waits for what waits as well", () => {
  const offer = offerOf({
    ...SMALL,
    queue: { slots: 2, runningMs: [100, 400], waitingMs: [250] },
  });
  const { terms } = estimate({
    ...HERE,
    offer,
    unseenMs: [500],
    work: { ...WORK, reloads: true },
  });
  // At 100 the one of 250 starts, at 350 the unseen one of 500.
  assert.equal(terms.queueMs, 850);
});

function engine(node: number, offer: Partial<Offer>): EngineSnapshot {
  return {
    key: `${node}/e`,
    node: nodeIdOf(node),
    nodeName: `node-${node}`,
    engine: "e",
    view: {
      availability: { kind: "available" },
      hop: { medianMs: node === 1 ? 0 : 1, jitterMs: 0 },
      offers: [offerOf(offer)],
      dispatchesSeen: Infinity,
    },
    unseenMs: () => [],
    bar: null,
    cachedTokens: () => 80,
  };
}

function firstFor(
  contextLength: number | undefined,
  engines: readonly EngineSnapshot[],
) {
  const placement = place({
    demand: {
      model: parseModelName("m"),
      capability: "chat",
      source: { kind: "unsaid" },
      promptTokens: 100,
      inputCount: 1,
      needs: [],
      expected: { meanTokens: 10, medianTokens: 10 },
      ...contextLength === undefined ? {} : { contextLength },
    },
    engines,
    self: nodeIdOf(1),
    policy: "balanced",
    seed: 1,
  });
  assert.equal(placement.kind, "placed");
  return placement;
}

Deno.test("a num_ctx beyond what a warm model has goes to a member that has it, if that is sooner than loading anew", () => {
  const queued = (waitMs: number): Partial<Offer> => ({
    contextLength: 16_384,
    queue: { slots: 1, runningMs: [waitMs], waitingMs: [] },
  });
  const keyFor = (contextLength: number | undefined, waitMs: number) =>
    firstFor(contextLength, [engine(1, SMALL), engine(2, queued(waitMs))])
      .order[0]?.engine.key;
  assert.equal(keyFor(undefined, 1_000), "1/e");
  assert.equal(keyFor(4_096, 1_000), "1/e");
  assert.equal(keyFor(8_192, 1_000), "2/e");
  // Beside a long queue a load of 4 s is the sooner.
  assert.equal(keyFor(8_192, 9_000), "1/e");
  const [here] = firstFor(8_192, [engine(1, SMALL)]).candidates;
  assert.equal(here?.terms.loadMs, 4_000);
});

Deno.test("what is cold, or loads just now, is not priced twice", () => {
  const loadMs = (state: Offer["state"]) =>
    firstFor(8_192, [engine(1, { ...SMALL, state })]).candidates[0]?.terms
      .loadMs;
  assert.equal(loadMs({ kind: "cold" }), 4_000);
  assert.equal(loadMs({ kind: "loading", remainingMs: 900 }), 900);
});

Deno.test("an answer that waited for more context teaches no prefill by its first content, and counts its load", () => {
  const attempt = buildAttempt("m", {
    upkeep: { contextLength: 8_192 },
    promptTokens: 100,
  });
  const offer = offerOf(SMALL);
  const work = workOf(attempt, offer);
  assert.equal(work.reloads, true);
  assert.equal(
    serviceMs(work, offer, 1) -
      serviceMs({ ...work, reloads: false }, offer, 1),
    4_000,
  );
  const roomy = { ...offer, contextLength: 8_192 };
  assert.equal(workOf(attempt, roomy).reloads, undefined);
  const meter = new AnswerMeter("chat", "text/event-stream");
  const say = (content: string, atMs: number) =>
    meter.piece(
      new TextEncoder().encode(
        event({ choices: [{ index: 0, delta: { content } }] }),
      ),
      atMs,
    );
  say("a", 4_100);
  say("b", 4_200);
  meter.end(4_200);
  const times = {
    startedAtMs: 0,
    endedAtMs: 4_200,
    concurrency: 1,
    sampled: false,
    loadTimeMs: 4_000,
  };
  assert.equal(observationOf(attempt, offer, meter, times).prefillMs, null);
  const warm = observationOf(attempt, roomy, meter, times);
  assert.ok((warm.prefillMs ?? 0) > 3_000);
});
