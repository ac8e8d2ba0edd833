import assert from "node:assert/strict";
import {
  type Engine,
  type EngineAnswer,
  Fault,
  type InferenceRequest,
  type JsonObject,
} from "../../src/domain/mod.ts";
import type { SimulatedSettings } from "../../src/engines/simulated/simulated_settings.ts";
import type { ManualClock } from "../../src/platform/mod.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { setUpSimulated } from "../fakes/simulated_setup.ts";

/** 100 prompt tokens take 50 ms; a token takes 10 ms alone, 13 ms beside another. */
const chat = {
  id: "sim-2b",
  capability: "chat",
  loadMs: 0,
  prefillTokensPerSecond: 2_000,
  decodeTokensPerSecond: 100,
  batchSlowdown: 0.3,
  noise: 0,
  slots: 2,
  contextLength: 1_000,
} as const;

function setUp(
  model: Partial<SimulatedSettings["models"][number]> = {},
  faults: Partial<SimulatedSettings["faults"]> = {},
) {
  return setUpSimulated({ ...chat, ...model }, faults);
}

interface Seen {
  headMs: number | null;
  /** When each event came, and what it said. */
  readonly events: { atMs: number; data: string }[];
  endMs: number | null;
  error: unknown;
}

/** Ask, and note when what comes. */
function ask(
  engine: Engine,
  clock: ManualClock,
  request: Partial<InferenceRequest> = {},
  signal = new AbortController().signal,
): { seen: Seen; done: Promise<void> } {
  const seen: Seen = { headMs: null, events: [], endMs: null, error: null };
  const run = async () => {
    try {
      const answer = await accept(engine, request, signal);
      seen.headMs = clock.monotonic();
      const text = answer.body.pipeThrough(new TextDecoderStream());
      for await (const data of text) {
        seen.events.push({ atMs: clock.monotonic(), data });
      }
    } catch (error) {
      seen.error = error;
    }
    seen.endMs = clock.monotonic();
  };
  return { seen, done: run() };
}

async function accept(
  engine: Engine,
  request: Partial<InferenceRequest> = {},
  signal = new AbortController().signal,
): Promise<EngineAnswer> {
  const started = await engine.start(buildAttempt("sim-2b", request), signal);
  assert.equal(started.kind, "accepted");
  return await started.answer();
}

function tokenTimes(seen: Seen): number[] {
  return seen.events.filter(({ data }) => data.includes('"content":"w'))
    .map(({ atMs }) => atMs);
}

function series(startMs: number, stepMs: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => startMs + stepMs * (at + 1));
}

Deno.test("createSimulatedEngine takes exactly prefill and decode when one sequence runs", async () => {
  const { clock, engine } = setUp();
  await using _owner = engine;
  const { seen, done } = ask(engine, clock);
  await clock.advance(1_000);
  await done;
  assert.equal(seen.headMs, 50);
  assert.deepEqual(tokenTimes(seen), series(50, 10, 10));
  assert.equal(seen.endMs, 150);
  const chunks = seen.events.map(({ data }) => {
    assert.match(data, /^data: .*\n\n$/);
    return data.slice(6, -2);
  });
  assert.equal(chunks.pop(), "[DONE]");
  const [opening, first, ...rest] = chunks.map((one) => JSON.parse(one));
  assert.deepEqual(opening.choices[0].delta, {
    role: "assistant",
    content: null,
  });
  assert.deepEqual(first.choices[0].delta, { content: "w1 " });
  const usage = rest.pop();
  assert.deepEqual(usage.choices, []);
  assert.deepEqual(usage.usage, {
    prompt_tokens: 100,
    completion_tokens: 10,
    total_tokens: 110,
  });
  const finish = rest.pop();
  assert.equal(finish.choices[0].finish_reason, "length");
  assert.deepEqual(
    [finish.timings.prompt_ms, finish.timings.predicted_ms],
    [60, 90],
    "as llama-server has it, the first token ends the prefill",
  );
});

Deno.test("createSimulatedEngine slows both sequences when two run", async () => {
  const { clock, engine } = setUp();
  await using _owner = engine;
  const one = ask(engine, clock);
  const two = ask(engine, clock, { maxOutputTokens: 20 });
  await clock.advance(1_000);
  await Promise.all([one.done, two.done]);
  // Both begin each token side by side, until the first is done.
  assert.deepEqual(tokenTimes(one.seen), series(50, 13, 10));
  assert.deepEqual(tokenTimes(two.seen), [
    ...series(50, 13, 10),
    ...series(180, 10, 10),
  ]);
});

Deno.test("createSimulatedEngine lets requests beyond its slots wait in order", async () => {
  const { clock, engine } = setUp({ slots: 1 });
  await using _owner = engine;
  const asked = [1, 2, 3].map(() => ask(engine, clock));
  await clock.advance(0);
  const view = engine.view().offers[0];
  assert.deepEqual(view?.queue, {
    slots: 1,
    runningMs: [150],
    waitingMs: [150, 150],
  });
  await clock.advance(200);
  assert.deepEqual(engine.view().offers[0]?.queue.waitingMs, [150]);
  await clock.advance(1_000);
  await Promise.all(asked.map(({ done }) => done));
  assert.deepEqual(asked.map(({ seen }) => seen.endMs), [150, 300, 450]);
});

Deno.test("createSimulatedEngine keeps to its schedule when the clock wakes it late", async () => {
  const { clock, engine } = setUp({ slots: 1, decodeTokensPerSecond: 1_000 });
  await using _owner = engine;
  const after = clock.after.bind(clock);
  // Every timer is 7 ms late, as on a busy machine.
  clock.after = (ms, call) => after(ms + 7, call);
  const one = ask(engine, clock, { maxOutputTokens: 400 });
  const two = ask(engine, clock, { maxOutputTokens: 400 });
  await clock.advance(2_000);
  await Promise.all([one.done, two.done]);
  assert.ok((one.seen.endMs ?? 0) < 450 + 16);
  assert.ok((two.seen.endMs ?? 0) < 900 + 16);
});

Deno.test("createSimulatedEngine loads on first demand, once", async () => {
  const { clock, engine } = setUp({ loadMs: 3_000 });
  await using _owner = engine;
  const state = () => engine.view().offers[0]?.state;
  assert.deepEqual(state(), { kind: "cold" });
  const one = ask(engine, clock);
  await clock.advance(1_000);
  const two = ask(engine, clock);
  assert.deepEqual(state(), { kind: "loading", remainingMs: 2_000 });
  await clock.advance(5_000);
  await Promise.all([one.done, two.done]);
  assert.deepEqual([one.seen.headMs, two.seen.headMs], [3_050, 3_050]);
  assert.deepEqual(state(), { kind: "warm", loadTimeMs: 3_000 });
});

Deno.test("createSimulatedEngine frees the slot at once when a caller leaves", async () => {
  const { clock, engine } = setUp({ slots: 1 });
  await using _owner = engine;
  const caller = new AbortController();
  const one = ask(engine, clock, {}, caller.signal);
  const waits = new AbortController();
  const two = ask(engine, clock, {}, waits.signal);
  const three = ask(engine, clock);
  await clock.advance(85);
  waits.abort(new Error("left the queue"));
  caller.abort(new Error("left the slot"));
  await clock.advance(1_000);
  await Promise.all([one.done, two.done, three.done]);
  assert.deepEqual(tokenTimes(one.seen), [60, 70, 80]);
  assert.match(String(one.seen.error), /left the slot/);
  assert.match(String(two.seen.error), /left the queue/);
  assert.equal(three.seen.endMs, 85 + 150);
});

Deno.test("createSimulatedEngine stops when its body is cancelled", async () => {
  const { clock, engine } = setUp();
  await using _owner = engine;
  const head = accept(engine, { maxOutputTokens: 900 });
  await clock.advance(100);
  await (await head).body.cancel();
  assert.deepEqual(engine.view().offers[0]?.queue.runningMs, []);
  assert.equal(clock.pending, 0);
});

Deno.test("createSimulatedEngine answers whole when no stream is asked for", async () => {
  const { clock, engine } = setUp();
  await using _owner = engine;
  const { seen, done } = ask(engine, clock, {
    stream: false,
    capability: "completion",
    maxOutputTokens: null,
  });
  await clock.advance(10_000);
  await done;
  assert.equal(seen.headMs, 50 + 640);
  const json = JSON.parse(seen.events.map(({ data }) => data).join(""));
  assert.equal(json.object, "text_completion");
  assert.match(json.choices[0].text, /^w1 w2 .* w64 $/);
  assert.equal(json.choices[0].finish_reason, "stop");
  assert.equal(json.usage.completion_tokens, 64);
});

Deno.test("createSimulatedEngine keeps prompt and answer inside the context", async () => {
  const { clock, engine } = setUp({ contextLength: 104 });
  await using _owner = engine;
  const one = ask(engine, clock);
  await clock.advance(1_000);
  await one.done;
  assert.equal(tokenTimes(one.seen).length, 4);
  const refused = await accept(engine, { promptTokens: 104 });
  assert.equal(refused.status, 400);
  assert.match(await textOf(refused), /exceed_context_size_error/);
});

Deno.test("createSimulatedEngine gives equal inputs equal vectors, as numbers and base64 alike", async () => {
  const { clock, engine } = setUp({ capability: "embedding" });
  await using _owner = engine;
  const embed = async (input: string | string[], encoding: string) => {
    const body: JsonObject = { input, encoding_format: encoding };
    const started = await engine.start(
      buildAttempt("sim-2b", { capability: "embedding", stream: false, body }),
      new AbortController().signal,
    );
    assert.equal(started.kind, "accepted");
    // Its vectors are digests, made in their own time, before it is accepted.
    await clock.advance(50);
    const json = JSON.parse(await textOf(await started.answer()));
    return json.data.map(({ embedding }: { embedding: unknown }) => embedding);
  };
  const [a, b, c] = await embed(["x", "y", "x"], "float");
  assert.deepEqual(a, c);
  assert.notDeepEqual(a, b);
  assert.equal(a.length, 16);
  assert.ok(Math.abs(Math.hypot(...a) - 1) < 1e-6);
  const [base64] = await embed("x", "base64");
  const bytes = Uint8Array.fromBase64(base64);
  assert.deepEqual(Array.from(new Float32Array(bytes.buffer)), a);
  await assert.rejects(
    engine.start(buildAttempt("sim-2b"), new AbortController().signal),
    (error) => error instanceof Fault && error.code === "wrong_capability",
  );
});

Deno.test("createSimulatedEngine fails as it is told to", async () => {
  const failing = setUp({}, { errorRate: 1, stallMs: 200 });
  const answer = accept(failing.engine);
  await failing.clock.advance(199);
  assert.equal(failing.clock.pending, 1);
  await failing.clock.advance(1);
  assert.equal((await answer).status, 500);
  await failing.engine[Symbol.asyncDispose]();

  const dying = setUp({}, { dieAfterTokens: 3, stallMs: 200 });
  await using _owner = dying.engine;
  const streamed = ask(dying.engine, dying.clock);
  const whole = ask(dying.engine, dying.clock, { stream: false });
  await dying.clock.advance(1_000);
  await Promise.all([streamed.done, whole.done]);
  assert.equal(streamed.seen.headMs, 250);
  assert.equal(tokenTimes(streamed.seen).length, 3);
  for (const { seen } of [streamed, whole]) {
    assert.ok(seen.error instanceof Fault);
    assert.equal(seen.error.code, "engine_failed");
    assert.equal(seen.error.origin, "engine");
  }
  assert.deepEqual(dying.engine.view().offers[0]?.queue.runningMs, []);
});

Deno.test("createSimulatedEngine spreads service times by its noise and no further", async () => {
  const { clock, engine } = setUp({ noise: 0.1, slots: 1 });
  await using _owner = engine;
  const asked = Array.from({ length: 40 }, () => ask(engine, clock));
  await clock.advance(20_000);
  await Promise.all(asked.map(({ done }) => done));
  const ends = asked.map(({ seen }) => seen.endMs ?? NaN);
  const lengths = ends.map((endMs, at) => endMs - (ends[at - 1] ?? 0));
  const meanMs = lengths.reduce((sum, one) => sum + one, 0) / lengths.length;
  const spread = Math.sqrt(
    lengths.reduce((sum, one) => sum + (one - meanMs) ** 2, 0) / lengths.length,
  ) / meanMs;
  assert.ok(Math.abs(meanMs - 150) < 8, `mean ${meanMs}`);
  assert.ok(spread > 0.06 && spread < 0.14, `spread ${spread}`);
});

Deno.test("createSimulatedEngine breaks off what runs when it is disposed of", async () => {
  const { clock, engine } = setUp();
  const { seen, done } = ask(engine, clock);
  await clock.advance(75);
  await engine[Symbol.asyncDispose]();
  await done;
  assert.ok(seen.error instanceof Fault && seen.error.code === "shutting_down");
  assert.equal(clock.pending, 0);
  const refused = await engine.start(
    buildAttempt("sim-2b"),
    new AbortController().signal,
  );
  assert.equal(refused.kind === "refused" && refused.reason, "draining");
});

Deno.test("createSimulatedEngine states its settings as priors", () => {
  const { engine } = setUp();
  const view = engine.view();
  assert.equal(view.dispatchesSeen, Infinity);
  const offer = view.offers[0];
  assert.deepEqual(offer?.rates.tpotMs, [10, 13]);
  assert.equal(offer?.rates.prefillTokensPerSecond, 2_000);
  assert.deepEqual(offer?.capabilities, ["chat", "completion"]);
  assert.throws(
    () => setUp({ capability: "speech" }),
    /Cannot simulate the capability "speech"/,
  );
});

async function textOf(answer: EngineAnswer): Promise<string> {
  return await new Response(answer.body).text();
}
