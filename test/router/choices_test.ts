import assert from "node:assert/strict";
import type { Offer } from "../../src/domain/mod.ts";
import { ManualClock } from "../../src/platform/mod.ts";
import { AnswerMeter } from "../../src/router/answer_meter.ts";
import { observationOf } from "../../src/router/answer_observation.ts";
import { choicesOf, planChoices } from "../../src/router/choices.ts";
import { demandOf } from "../../src/router/demand.ts";
import { EngineExperience } from "../../src/router/engine_experience.ts";
import { estimate, serviceMs } from "../../src/router/estimate.ts";
import { LengthBook } from "../../src/router/length_book.ts";
import { DeviceQueues } from "../../src/router/device_queues.ts";
import { QueuedEngine } from "../../src/router/queued_engine.ts";
import { timeLimits } from "../../src/router/time_limits.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import {
  answeringIn,
  nodeIdOf,
  offerOf,
  ScriptedEngine,
} from "../fakes/scripted_engine.ts";

function several(n: number) {
  return chatRequest({ needs: ["n"], body: { n }, promptTokens: 0 });
}

/** 10 ms a token alone, 12 ms beside a second and 20 ms beside three others. */
function offerWith(slots: number, runningMs: readonly number[] = []): Offer {
  const rates = { ...offerOf().rates, tpotMs: [10, 12, 16, 20] };
  return offerOf({ rates, queue: { slots, runningMs, waitingMs: [] } });
}

Deno.test("choicesOf reads n where it is needed and bounds it", () => {
  assert.equal(choicesOf(several(4)), 4);
  assert.equal(choicesOf(several(1e9)), 128);
  assert.equal(choicesOf(chatRequest({ body: {} })), 1);
  // What nobody asked an engine for is not done.
  assert.equal(choicesOf(chatRequest({ body: { n: 4 } })), 1);
  assert.equal(demandOf(several(4), [], new LengthBook()).choices, 4);
  assert.ok(!("choices" in demandOf(chatRequest({}), [], new LengthBook())));
});

Deno.test("planChoices fills the free slots and repeats for the rest", () => {
  const table = [
    [1, 4, 1, 1, 1],
    [4, 4, 1, 4, 1],
    [4, 4, 3, 2, 2],
    [4, 4, 4, 1, 4],
    [5, 2, 1, 2, 3],
    // A device that is over its slots has one for it all the same.
    [3, 1, 2, 1, 3],
  ] as const;
  for (const [choices, slots, concurrency, lanes, rounds] of table) {
    assert.deepEqual(planChoices(choices, slots, concurrency), {
      lanes,
      rounds,
    });
  }
});

Deno.test("estimate reckons several answers side by side where slots are free, else one after the other", () => {
  const decodeMs = (offer: Offer, choices?: number) =>
    estimate({
      work: {
        capability: "chat",
        promptTokens: 0,
        outputTokens: 50,
        ...(choices === undefined ? {} : { choices }),
      },
      offer,
      availability: { kind: "available" },
      hop: { medianMs: 0, jitterMs: 0 },
      unseenMs: [],
    }).terms.decodeMs;
  assert.equal(decodeMs(offerWith(4)), 500);
  assert.equal(decodeMs(offerWith(4), 4), 1000);
  assert.equal(decodeMs(offerWith(1), 4), 2000);
  // Two slots are taken: two at a time, all four slots busy.
  assert.equal(decodeMs(offerWith(4, [900, 900]), 4), 2 * 50 * 20);
  const work = {
    capability: "chat",
    promptTokens: 0,
    outputTokens: 50,
    choices: 4,
  } as const;
  assert.equal(serviceMs(work, offerWith(1), 1), 2000);
});

Deno.test("timeLimits leaves a whole answer time for all of its choices", () => {
  const limits = (n: number) =>
    timeLimits(
      { ...several(n), stream: false, maxOutputTokens: 4000 },
      offerWith(1),
      estimate({
        work: { capability: "chat", promptTokens: 0, outputTokens: 0 },
        offer: offerWith(1),
        availability: { kind: "available" },
        hop: { medianMs: 0, jitterMs: 0 },
        unseenMs: [],
      }),
    ).wholeMs;
  assert.equal(limits(3), 3 * limits(1));
});

Deno.test("several answers teach their length and nothing of the engine's speed", () => {
  const attempt = buildAttempt("m", { needs: ["n"], body: { n: 2 } });
  const meter = new AnswerMeter("chat", "application/json");
  const answer = {
    choices: [0, 1].map((index) => ({
      index,
      message: { role: "assistant", content: "a b c d" },
      finish_reason: "stop",
    })),
    usage: { prompt_tokens: 100, completion_tokens: 40 },
    timings: {
      prompt_n: 100,
      prompt_ms: 50,
      cache_n: 0,
      predicted_n: 40,
      predicted_ms: 200,
    },
  };
  meter.piece(new TextEncoder().encode(JSON.stringify(answer)), 250);
  meter.end(250);
  const facts = {
    startedAtMs: 0,
    concurrency: 1,
    sampled: false,
    loadTimeMs: null,
  };
  const seen = observationOf(attempt, offerWith(2), meter, {
    ...facts,
    endedAtMs: 250,
  });
  assert.equal(seen.outputTokens, 20);
  assert.deepEqual([seen.prefillMs, seen.decodeMs], [null, null]);

  using experience = new EngineExperience({
    clock: new ManualClock(),
    speed: null,
  });
  const offer = offerWith(2);
  experience.learn(attempt, offer, meter, facts);
  assert.equal(experience.knowsDecode(offer.model), false);
  assert.equal(experience.ratesNow(offer).expectedOutputTokens, 20);
});

Deno.test("QueuedEngine gives an engine that writes several answers nothing more than its slots hold beside them", async () => {
  const clock = new ManualClock();
  const raw = new ScriptedEngine({
    clock,
    node: nodeIdOf(1),
    offers: [offerWith(4)],
    script: () => answeringIn(100, 8),
  });
  const engine = new QueuedEngine(raw, {
    clock,
    queues: new DeviceQueues(clock),
    maxQueue: 64,
  });
  const never = new AbortController().signal;
  const start = (request = {}) =>
    engine.start(buildAttempt("m", request), never);
  const started = [
    await start({ needs: ["n"], body: { n: 3 } }),
    await start(),
    await start(),
  ];
  const bodies = Promise.all(started.map(async (one) => {
    assert(one.kind === "accepted");
    return await new Response((await one.answer()).body).text();
  }));
  const [offer] = engine.view().offers;
  assert.equal(offer?.queue.runningMs.length, 4);
  assert.equal(offer?.queue.waitingMs.length, 1);
  await clock.advance(50);
  assert.equal(raw.attempts.length, 2);
  await clock.advance(1_000);
  await bodies;
  assert.equal(raw.attempts.length, 3);
  assert.deepEqual(engine.view().offers[0]?.queue.runningMs, []);
});
