import assert from "node:assert/strict";
import type { InferenceRequest, JsonObject } from "../../src/domain/mod.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { setUpSimulated } from "../fakes/simulated_setup.ts";

function setUp(dieAfterTokens: number | null = null) {
  const { clock, engine } = setUpSimulated(
    { cachedPrompts: 0 },
    { dieAfterTokens },
  );
  async function ask(
    body: JsonObject,
    request: Partial<InferenceRequest> = {},
    signal = new AbortController().signal,
  ): Promise<{ status: number; text: string }> {
    const messages = [{ role: "user", content: "Hello" }];
    const started = await engine.start(
      buildAttempt("m", {
        maxOutputTokens: 2,
        body: { messages, ...body },
        ...request,
      }),
      signal,
    );
    assert(started.kind === "accepted");
    const answer = await started.answer();
    const text = await new Response(answer.body).text();
    return { status: answer.status, text };
  }
  return { clock, engine, ask };
}

Deno.test("createSimulatedEngine gives n answers, two at a time on two slots, counted together", async () => {
  const { clock, engine, ask } = setUp();
  await using _owner = engine;
  const asked = ask({ n: 3 }, { stream: false });
  await clock.advance(110);
  assert.deepEqual(engine.view().offers[0]?.queue, {
    slots: 2,
    runningMs: [10, 10],
    waitingMs: [120],
  });
  await clock.advance(130);
  const { text } = await asked;
  const answer = JSON.parse(text);
  assert.deepEqual(
    answer.choices.map((choice: JsonObject) => [
      choice.index,
      choice.message,
      choice.finish_reason,
    ]),
    [
      [0, { role: "assistant", content: "w1 w2 " }, "length"],
      [1, { role: "assistant", content: "w1.1 w2.1 " }, "length"],
      [2, { role: "assistant", content: "w1.2 w2.2 " }, "length"],
    ],
  );
  assert.deepEqual(answer.usage, {
    prompt_tokens: 100,
    completion_tokens: 6,
    total_tokens: 106,
  });
  assert.equal(answer.timings.predicted_n, 6);
  assert.equal(clock.pending, 0);
});

Deno.test("createSimulatedEngine streams each of n answers with its own end, one usage and one terminator", async () => {
  const { clock, engine, ask } = setUp();
  await using _owner = engine;
  for (
    const [part, textOf] of [
      [{}, (choice: JsonObject) => (choice.delta as JsonObject).content],
      [
        { capability: "completion", body: { prompt: "Hello", n: 3 } },
        (choice: JsonObject) => choice.text,
      ],
    ] as const
  ) {
    const asked = ask({ n: 3 }, part);
    await clock.advance(1_000);
    const events = (await asked).text.trim().split("\n\n")
      .map((event) => event.slice("data: ".length));
    assert.equal(events.pop(), "[DONE]");
    const chunks = events.map((event) => JSON.parse(event));
    const { choices, usage } = chunks.pop();
    assert.deepEqual(choices, []);
    assert.equal(usage.completion_tokens, 6);
    for (const index of [0, 1, 2]) {
      const own = chunks.map((chunk) => chunk.choices[0])
        .filter((choice) => choice.index === index);
      const ends = own.filter((choice) => choice.finish_reason !== null);
      assert.deepEqual(ends, [own.at(-1)]);
      const text = own.map((choice) => textOf(choice) ?? "").join("");
      assert.equal(text, index === 0 ? "w1 w2 " : `w1.${index} w2.${index} `);
    }
    assert.equal(chunks.filter((chunk) => "timings" in chunk).length, 1);
  }
});

Deno.test("createSimulatedEngine gives the same log probabilities each time, whole and streamed", async () => {
  const { clock, engine, ask } = setUp();
  await using _owner = engine;
  const half = Math.log(0.5);
  const bytes = [119, 49, 32];
  const expected = {
    token: "w1 ",
    logprob: half,
    bytes,
    top_logprobs: [
      { token: "w1 ", logprob: half, bytes },
      { token: "w1-1 ", logprob: 2 * half, bytes: [119, 49, 45, 49, 32] },
    ],
  };
  const wish = { logprobs: true, top_logprobs: 2 };
  const whole = ask(wish, { stream: false });
  const streamed = ask(wish);
  await clock.advance(1_000);
  const answer = JSON.parse((await whole).text);
  assert.deepEqual(answer.choices[0].logprobs.content[0], expected);
  assert.equal(answer.choices[0].logprobs.content.length, 2);
  const chunks = (await streamed).text.split("\n\n")
    .filter((event) => event.includes('"logprobs"'))
    .map((event) => JSON.parse(event.slice("data: ".length)));
  assert.deepEqual(
    chunks.flatMap((chunk) => chunk.choices[0].logprobs.content),
    answer.choices[0].logprobs.content,
  );
  const plain = ask({ prompt: "Hello", logprobs: 1 }, {
    stream: false,
    capability: "completion",
  });
  await clock.advance(1_000);
  assert.deepEqual(JSON.parse((await plain).text).choices[0].logprobs, {
    tokens: ["w1 ", "w2 "],
    token_logprobs: [half, half],
    top_logprobs: [{ "w1 ": half }, { "w2 ": half }],
    text_offset: [0, 3],
  });
});

Deno.test("createSimulatedEngine refuses more answers and names than the embedded engine gives", async () => {
  const { engine, ask } = setUp();
  await using _owner = engine;
  for (
    const [body, param] of [
      [{ n: 17 }, "n"],
      [{ logprobs: true, top_logprobs: 21 }, "top_logprobs"],
      [{ logprobs: 21 }, "logprobs"],
    ] as const
  ) {
    const { status, text } = await ask(body);
    assert.equal(status, 400);
    assert.equal(JSON.parse(text).error.param, param);
  }
});

Deno.test("createSimulatedEngine gives all slots of n answers back at an abort, and when one dies", async () => {
  const { clock, engine, ask } = setUp();
  await using _owner = engine;
  const leaving = new AbortController();
  const asked = assert.rejects(ask({ n: 4 }, {}, leaving.signal), /left/);
  await clock.advance(105);
  assert.equal(engine.view().offers[0]?.queue.runningMs.length, 2);
  leaving.abort(new Error("left"));
  await asked;
  const free = { slots: 2, runningMs: [], waitingMs: [] };
  assert.deepEqual(engine.view().offers[0]?.queue, free);

  const dying = setUp(1);
  await using _dying = dying.engine;
  const died = assert.rejects(dying.ask({ n: 4 }), /died as told/);
  await dying.clock.advance(115);
  await died;
  assert.deepEqual(dying.engine.view().offers[0]?.queue, free);
  assert.equal(dying.clock.pending, 0);
});
