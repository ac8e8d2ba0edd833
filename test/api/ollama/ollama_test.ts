import assert from "node:assert/strict";
import fc from "fast-check";
import { translateStream } from "../../../src/api/dialect/translate_stream.ts";
import { readWholeAnswer } from "../../../src/api/dialect/whole_answer.ts";
import {
  AnswerLines,
  answerOf,
  type LineFrame,
} from "../../../src/api/ollama/answer_lines.ts";
import { apiUnderTest, LOOPBACK, PEER, post } from "../api_under_test.ts";
import {
  CALLS,
  chunk,
  cuts,
  DONE,
  oneByOne,
  through,
  unnumbered,
  WIDE,
} from "../dialect/streams.ts";

const EVENTS = "text/event-stream";
const ASK = { model: "m", messages: [{ role: "user", content: "hello" }] };
const WHOLE = JSON.stringify({
  choices: [{
    index: 0,
    message: { role: "assistant", content: "hi", reasoning_content: "hm" },
    finish_reason: "length",
  }],
  usage: { prompt_tokens: 5, completion_tokens: 2 },
  timings: { prompt_ms: 1.5, predicted_ms: 2 },
});

function translate(
  pieces: readonly Uint8Array<ArrayBuffer>[],
): Promise<string> {
  const writer = new AnswerLines({
    kind: "chat",
    model: "m",
    createdAt: "2026-01-01T00:00:00.000Z",
    only: null,
    elapsedMs: () => 10,
  });
  return through(pieces, translateStream(writer, "s"));
}

const asOne = (text: string) => [new TextEncoder().encode(text)];
// deno-lint-ignore no-explicit-any
const linesOf = (text: string): any[] =>
  text.trimEnd().split("\n").map((line) => JSON.parse(line));

Deno.test("SSE-01 lines are the same however the engine's bytes were cut", async () => {
  for (const source of [WIDE, CALLS]) {
    const whole = await translate(asOne(source));
    assert.equal(await translate(oneByOne(source)), whole);
    await fc.assert(
      fc.asyncProperty(cuts(source), async (pieces) => {
        assert.equal(await translate(pieces), whole);
      }),
      { numRuns: 50 },
    );
  }
  const lines = linesOf(await translate(oneByOne(WIDE)));
  assert.equal(lines.map((one) => one.message.content).join(""), "北🌍é fine");
  assert.deepEqual(lines.map((one) => one.done), [false, false, true]);
  const last = lines.at(-1);
  assert.equal(last.done_reason, "stop");
  assert.equal(last.prompt_eval_count, 11);
  assert.equal(last.eval_count, 7);
  assert.equal(last.total_duration, 10_000_000);
});

Deno.test("TRN-04 calls come whole, with objects for arguments and exact numbers", async () => {
  const text = await translate(asOne(CALLS));
  const [called, last] = linesOf(text);
  assert.deepEqual(called.message.tool_calls[0].function, {
    index: 0,
    name: "f",
    arguments: { a: 1 },
  });
  assert.match(text, /"arguments":\{"b":12345678901234567890\}/);
  assert.equal(last.done_reason, "stop");
  for (const index of [0, undefined]) {
    const [two] = linesOf(await translate(asOne(unnumbered(index, false))));
    assert.equal(two.message.tool_calls.length, 2);
  }
});

Deno.test("SSE-03 comments leave no line, SSE-04 what breaks off ends in an error line", async () => {
  const text = await translate(
    asOne(`: queued\n\n${chunk({ content: "a" })}:\n\n`),
  );
  const lines = linesOf(text);
  assert.equal(lines.length, 2);
  assert.deepEqual(lines[1], { error: "The engine's answer broke off" });
  const bad = chunk({
    tool_calls: [{ id: "a", function: { name: "f", arguments: "{no" } }],
  });
  const broken = linesOf(
    await translate(asOne(bad + chunk({}, "tool_calls") + DONE)),
  );
  assert.match(broken.at(-1).error, /no JSON object/);
  const cut = linesOf(await translate(asOne(bad + chunk({}, "length") + DONE)));
  assert.equal(cut.at(-1).done_reason, "length");
});

Deno.test("an answer tells how long it took where its engine does not", async () => {
  let elapsedMs = 0;
  const frame: LineFrame = {
    kind: "chat",
    model: "m",
    createdAt: "2026-01-01T00:00:00.000Z",
    only: null,
    elapsedMs: () => elapsedMs += 10,
  };
  const text = await through(
    asOne(chunk({ content: "a" }) + chunk({ content: "b" }, "stop") + DONE),
    translateStream(new AnswerLines(frame), "s"),
  );
  const last = linesOf(text).at(-1);
  assert.equal(last.total_duration, 20_000_000);
  assert.equal(last.eval_duration, 10_000_000);
  assert.equal(last.load_duration, 10_000_000);
  const { timings: _, ...untimed } = JSON.parse(WHOLE);
  const whole = answerOf(readWholeAnswer(untimed, "s"), frame);
  assert.equal(whole.total_duration, 30_000_000);
  assert.equal(whole.eval_duration, 30_000_000);
  assert.equal(whole.load_duration, 0);
});

Deno.test("SSE-14 chat and generate stream unless told not to", async () => {
  const { api, router } = apiUnderTest();
  router.answer = ({ stream }) =>
    stream ? { body: WIDE, contentType: EVENTS } : { body: WHOLE };
  for (
    const [path, body] of [
      ["/api/chat", ASK],
      ["/api/generate", { model: "m", prompt: "hello" }],
    ] as const
  ) {
    for (const stream of [undefined, null, true]) {
      const response = await api.handle(
        post(path, { ...body, stream }),
        LOOPBACK,
      );
      assert.equal(
        response.headers.get("content-type"),
        "application/x-ndjson",
      );
      assert.equal(response.headers.get("x-covey-decision")?.length, 10);
      const lines = linesOf(await response.text());
      assert.equal(lines.at(-1).done, true);
      const said = path === "/api/chat"
        ? lines.map((line) => line.message.content)
        : lines.map((line) => line.response);
      assert.equal(said.join(""), "北🌍é fine");
      assert.equal(router.requests.at(-1)?.body.stream, true);
    }
    const response = await api.handle(
      post(path, { ...body, stream: false }),
      LOOPBACK,
    );
    const whole = await response.json();
    assert.equal(router.requests.at(-1)?.body.stream, false);
    assert.equal(whole.done_reason, "length");
    assert.equal(whole.prompt_eval_duration, 1_500_000);
    assert.equal(whole.eval_duration, 2_000_000);
    if (path === "/api/chat") {
      assert.deepEqual(whole.message, {
        role: "assistant",
        content: "hi",
        thinking: "hm",
      });
    } else assert.deepEqual([whole.response, whole.thinking], ["hi", "hm"]);
  }
});

Deno.test("REQ-01 options, format, pictures and past calls become the internal dialect", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: '{"choices":[]}' });
  const schema = { type: "object" };
  await api.handle(
    post("/node/ben/api/chat", {
      model: "m",
      stream: false,
      format: schema,
      think: false,
      keep_alive: "5m",
      options: {
        num_predict: 5,
        stop: "END",
        temperature: 0,
        top_k: 3,
        num_ctx: 4096,
        seed: 7,
      },
      tools: [{ type: "function", function: { name: "f" } }],
      messages: [
        { role: "user", content: "look", images: ["/9j/AAA", "iVBORx"] },
        {
          role: "assistant",
          content: "",
          tool_calls: [
            { function: { name: "f", arguments: { a: 1 } } },
            { function: { name: "g", arguments: {} } },
          ],
        },
        { role: "tool", tool_name: "g", content: "two" },
        { role: "tool", content: "one" },
      ],
    }),
    LOOPBACK,
  );
  const [request] = router.requests;
  assert.deepEqual(request?.upkeep, {
    keepAliveMs: 300_000,
    contextLength: 4096,
  });
  assert.deepEqual(request?.source, { kind: "node", node: PEER });
  assert.equal(request?.maxOutputTokens, 5);
  const call = (id: string, name: string, args: string) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  });
  const picture = (type: string, data: string) => ({
    type: "image_url",
    image_url: { url: `data:image/${type};base64,${data}` },
  });
  assert.deepEqual(request?.body, {
    model: "m",
    stream: false,
    temperature: 0,
    top_k: 3,
    seed: 7,
    max_tokens: 5,
    stop: ["END"],
    response_format: {
      type: "json_schema",
      json_schema: { name: "answer", schema, strict: true },
    },
    chat_template_kwargs: { enable_thinking: false },
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          picture("jpeg", "/9j/AAA"),
          picture("png", "iVBORx"),
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [call("call_0", "f", '{"a":1}'), call("call_1", "g", "{}")],
      },
      { role: "tool", tool_call_id: "call_1", content: "two" },
      { role: "tool", tool_call_id: "call_0", content: "one" },
    ],
    tools: [{ type: "function", function: { name: "f" } }],
  });
});

Deno.test("TRN-04 malformed past arguments are a 400 that names the message", async () => {
  const { api, router } = apiUnderTest();
  const response = await api.handle(
    post("/api/chat", {
      ...ASK,
      messages: [...ASK.messages, {
        role: "assistant",
        tool_calls: [{ function: { name: "f", arguments: '{"a":1}{"b":2}' } }],
      }],
    }),
    LOOPBACK,
  );
  assert.equal(response.status, 400);
  assert.match((await response.json()).error, /messages\[1\]/);
  assert.equal(router.requests.length, 0);
});

Deno.test("generate takes a system prompt, goes raw, and loads where it is given no prompt", async () => {
  const { api, router } = apiUnderTest();
  router.answer = ({ capability }) => ({
    body: capability === "chat"
      ? WHOLE
      : '{"choices":[{"index":0,"text":"raw","finish_reason":"stop"}]}',
  });
  const ask = async (body: object) => {
    const response = await api.handle(
      post("/api/generate", { model: "m", stream: false, ...body }),
      LOOPBACK,
    );
    return await response.json();
  };
  await ask({ prompt: "p", system: "s", format: "json" });
  assert.deepEqual(router.requests[0]?.body.messages, [
    { role: "system", content: "s" },
    { role: "user", content: "p" },
  ]);
  assert.deepEqual(router.requests[0]?.needs, ["json_schema"]);
  assert.equal((await ask({ prompt: "p", raw: true })).response, "raw");
  assert.equal(router.requests[1]?.capability, "completion");
  const loaded = await ask({});
  assert.equal(loaded.response, "");
  assert.equal(loaded.done_reason, "load");
  assert.equal(router.requests[2]?.maxOutputTokens, 1);
  assert.deepEqual(router.requests[2]?.upkeep, { only: "load" });
  const unloaded = await ask({ keep_alive: 0 });
  assert.equal(unloaded.done_reason, "unload");
  assert.deepEqual(router.requests.pop()?.upkeep, {
    keepAliveMs: 0,
    only: "unload",
  });
  for (const prompt of ["p", ""]) {
    assert.equal((await ask({ prompt, suffix: "s" })).response, "raw");
    const filling = router.requests.pop();
    assert.equal(filling?.capability, "completion");
    assert.deepEqual(
      [filling?.body.prompt, filling?.body.suffix],
      [prompt, "s"],
    );
  }
  assert.match((await ask({ prompt: "p", template: "t" })).error, /"template"/);
  assert.match(
    (await ask({ prompt: "p", logprobs: true })).error,
    /"logprobs"/,
  );
  assert.match((await ask({ prompt: 5 })).error, /"prompt"/);
  const hot = { prompt: "p", options: { temperature: "hot" } };
  assert.match((await ask(hot)).error, /"options.temperature"/);
  assert.equal(router.requests.length, 3);
});

Deno.test("EMB-03 embed and embeddings give vectors in order, and refuse empty input", async () => {
  const { api, router } = apiUnderTest();
  router.answer = ({ inputCount }) => ({
    body: JSON.stringify({
      data: Array.from({ length: inputCount }, (_, n) => ({
        index: inputCount - 1 - n,
        embedding: [inputCount - 1 - n, 0.5],
      })),
      usage: { prompt_tokens: 4 },
    }),
  });
  const ask = (path: string, body: object) =>
    api.handle(post(path, { model: "m", ...body }), LOOPBACK);
  const two = await (await ask("/api/embed", { input: ["a", "b"] })).json();
  assert.deepEqual(two.embeddings, [[0, 0.5], [1, 0.5]]);
  assert.equal(two.prompt_eval_count, 4);
  assert.equal(two.load_duration, 0);
  const one = await (await ask("/api/embeddings", { prompt: "a" })).json();
  assert.deepEqual(one, { embedding: [0, 0.5] });
  for (const input of ["", [], ["a", ""]]) {
    assert.equal((await ask("/api/embed", { input })).status, 400);
  }
  assert.equal(router.requests.at(-1)?.capability, "embedding");
});

Deno.test("an engine's refusal is Ollama's one field", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ status: 500, body: '{"error":{"message":"bad"}}' });
  const response = await api.handle(post("/api/chat", ASK), LOOPBACK);
  assert.equal(response.status, 500);
  assert.deepEqual(await response.json(), { error: "bad" });
});
