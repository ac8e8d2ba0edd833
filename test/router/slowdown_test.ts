import assert from "node:assert/strict";
import fc from "fast-check";
import { ManualClock } from "../../src/platform/mod.ts";
import { Corrections } from "../../src/router/correction.ts";
import { DeviceQueues } from "../../src/router/device_queues.ts";
import { LengthBook } from "../../src/router/length_book.ts";
import { OutputLengths } from "../../src/router/output_length.ts";
import { QueuedEngine } from "../../src/router/queued_engine.ts";
import {
  NO_SLOWDOWN,
  observeSlowdown,
  slowdownAt,
} from "../../src/router/slowdown.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import {
  DONE,
  event,
  nodeIdOf,
  offerOf,
  ROLE,
  type Script,
  ScriptedEngine,
  text,
} from "../fakes/scripted_engine.ts";

const NEVER = new AbortController().signal;

/** An answer of so many tokens, one every `tpotMs`. */
function paced(tokens: number, tpotMs: number): Script {
  return {
    kind: "answer",
    steps: [
      ROLE,
      ...Array.from(
        { length: tokens },
        () => [{ waitMs: tpotMs }, text("w")],
      ).flat(),
      event({ choices: [{ delta: {}, finish_reason: "stop" }] }),
      DONE,
    ],
  };
}

function setUp(tpotMs: (n: number) => number, tokens: (n: number) => number) {
  const clock = new ManualClock();
  const raw = new ScriptedEngine({
    clock,
    node: nodeIdOf(1),
    offers: [offerOf()],
    script: (_, n) => paced(tokens(n), tpotMs(n)),
  });
  const engine = new QueuedEngine(raw, {
    clock,
    queues: new DeviceQueues(clock),
    maxQueue: 64,
  });
  const run = async () => {
    const started = await engine.start(
      buildAttempt("m", { maxOutputTokens: null }),
      NEVER,
    );
    assert(started.kind === "accepted");
    const answer = await started.answer();
    return await new Response(answer.body).text();
  };
  const tpot = () => engine.view().offers[0]?.rates.tpotMs[0] ?? NaN;
  return { clock, engine, run, tpot };
}

Deno.test("QueuedEngine sees a throttled device before its answer is over, and forgets it when idle (HW throttling)", async () => {
  const { clock, run, tpot } = setUp(
    (n) => n <= 4 ? 20 : 50,
    (n) => n <= 4 ? 20 : 1000,
  );
  for (let n = 0; n < 4; n++) {
    const done = run();
    await clock.advance(1000);
    await done;
  }
  assert(Math.abs(tpot() - 20) < 1, `${tpot()}`);
  const throttled = run();
  await clock.advance(10_000);
  // The answer takes 50 s; what it shows in 10 s is enough.
  assert(Math.abs(tpot() - 50) < 5, `${tpot()}`);
  await clock.advance(45_000);
  await throttled;
  assert(tpot() > 35, `${tpot()}`);
  await clock.advance(90_000);
  assert(tpot() < 24, `${tpot()}`);
  assert.equal(clock.pending, 0);
});

Deno.test("QueuedEngine reckons what is left of an answer by those before it", async () => {
  const { clock, engine, run } = setUp(
    () => 10,
    (n) => n <= 20 ? (n % 2 === 0 ? 10 : 400) : 400,
  );
  for (let n = 0; n < 20; n++) {
    const done = run();
    await clock.advance(5000);
    await done;
  }
  const left = () => engine.view().offers[0]?.queue.runningMs[0] ?? NaN;
  const done = run();
  await clock.advance(50);
  // Half of all end at 10 tokens, half at 400: 205 on average, 5 are there.
  const early = left();
  assert(early > 1500 && early < 2500, `${early}`);
  await clock.advance(100);
  // It is past 10 tokens, so it is one of the long ones: more is left, not less.
  assert(left() > 3500 && left() < 4000, `${left()}`);
  await clock.advance(5000);
  await done;
});

Deno.test("a slowdown jumps when three agree, and fades with 30 s", () => {
  let slowdown = NO_SLOWDOWN;
  for (const ratio of [2.4, 2.6, 2.5]) {
    slowdown = observeSlowdown(slowdown, ratio, 1000);
  }
  assert(Math.abs(slowdownAt(slowdown, 1000) - 2.5) < 0.01);
  assert(Math.abs(slowdownAt(slowdown, 31_000) - 2.5 ** Math.exp(-1)) < 0.01);
  for (const ratio of [0.7, 0.7, 0.7]) {
    slowdown = observeSlowdown(slowdown, ratio, 2000);
  }
  assert.equal(slowdownAt(slowdown, 2000), 1);
  assert.equal(slowdownAt(observeSlowdown(NO_SLOWDOWN, NaN, 0), 0), 1);
});

Deno.test("OutputLengths.remaining is the mean residual life", () => {
  fc.assert(fc.property(
    fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 50 }),
    fc.integer({ min: 0, max: 500 }),
    (tokens, soFar) => {
      const lengths = new OutputLengths();
      for (const one of tokens) lengths.observe(one, false);
      const longer = tokens.filter((one) => one > soFar);
      const mean = longer.length === 0
        ? soFar / 4
        : longer.reduce((sum, one) => sum + one - soFar, 0) / longer.length;
      assert(Math.abs(lengths.remaining(soFar, null) - mean) < 1e-6);
      assert(lengths.remaining(soFar, soFar + 7) <= 7 + 1e-9);
    },
  ));
  const cut = new OutputLengths();
  cut.observe(100, true);
  // Nobody saw where it would have ended.
  assert.equal(cut.remaining(40, null, 256), 60 + 256);
  assert.equal(new OutputLengths().remaining(10, 50, 256), 40);
});

Deno.test("LengthBook knows a client with enough answers, else the model", () => {
  const book = new LengthBook();
  for (let n = 0; n < 8; n++) {
    book.observe("m", 10, false, "short");
    book.observe("m", 200, false, "long");
  }
  book.observe("m", 500, false, "new");
  const mean = (client?: string) =>
    Math.round(book.find("m", client)?.expected(null).meanTokens ?? NaN);
  assert.deepEqual([mean("short"), mean("long")], [10, 200]);
  assert.equal(mean("new"), mean());
  assert.equal(mean("unknown"), mean());
});

Deno.test("Corrections stay between 0.5 and 2, follow slowly, and fade", () => {
  const corrections = new Corrections();
  assert.equal(corrections.factor("a", 0), 1);
  corrections.observe("a", 100, 130, 0);
  assert(Math.abs(corrections.factor("a", 0) - Math.sqrt(1.3)) < 1e-9);
  for (let n = 0; n < 200; n++) corrections.observe("a", 100, 1e6, 0);
  assert(Math.abs(corrections.factor("a", 0) - 2) < 1e-3);
  for (let n = 0; n < 400; n++) corrections.observe("a", 100, 1, 0);
  assert(Math.abs(corrections.factor("a", 0) - 0.5) < 1e-3);
  assert(corrections.factor("a", 1e7) > 0.99);
  corrections.observe("a", 0, 5, 0);
  assert.equal(corrections.factor("b", 0), 1);
});
