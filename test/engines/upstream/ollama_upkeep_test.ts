import assert from "node:assert/strict";
import { Fault, type JsonObject } from "../../../src/domain/mod.ts";
import { ollamaEvents } from "../../../src/engines/upstream/ollama_answer.ts";
import { ollamaCall } from "../../../src/engines/upstream/ollama_request.ts";
import { startFakeOllama } from "../../fakes/fake_ollama.ts";
import { setUpUpstreams } from "./upstream_setup.ts";

const never = new AbortController().signal;
const CHAT = "/v1/chat/completions";
const MODEL = "mymodel:latest";

Deno.test("ollamaCall says in Ollama's own words what its OpenAI routes do not know", () => {
  const call = ollamaCall(CHAT, {
    model: "m",
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0,
    max_tokens: 5,
    stop: ["END"],
    response_format: {
      type: "json_schema",
      json_schema: { name: "a", schema: { type: "object" } },
    },
    chat_template_kwargs: { enable_thinking: false },
    tools: [{ type: "function", function: { name: "f" } }],
    messages: [
      { role: "developer", content: "be brief" },
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          {
            type: "image_url",
            image_url: { url: "data:image/png;base64,AAA" },
          },
        ],
      },
      {
        role: "assistant",
        content: null,
        reasoning_content: "hm",
        tool_calls: [{
          id: "c",
          type: "function",
          function: { name: "f", arguments: '{"a":1}' },
        }],
      },
      { role: "tool", tool_call_id: "c", content: "done" },
    ],
  }, { keepAliveMs: 300_000, contextLength: 16_384 });
  assert.deepEqual(call, {
    path: "/api/chat",
    body: {
      model: "m",
      stream: true,
      keep_alive: "300000ms",
      options: {
        temperature: 0,
        stop: ["END"],
        num_predict: 5,
        num_ctx: 16_384,
      },
      format: { type: "object" },
      think: false,
      tools: [{ type: "function", function: { name: "f" } }],
      messages: [
        { role: "system", content: "be brief" },
        { role: "user", content: "look", images: ["AAA"] },
        {
          role: "assistant",
          content: "",
          thinking: "hm",
          tool_calls: [{ function: { name: "f", arguments: { a: 1 } } }],
        },
        { role: "tool", content: "done", tool_call_id: "c" },
      ],
    },
  });
});

Deno.test("ollamaCall gives a completion as it is, or to the model's template with what follows it", () => {
  const bodyOf = (more: JsonObject) =>
    ollamaCall("/v1/completions", { model: "m", prompt: "a", ...more }, {
      keepAliveMs: null,
    })?.body;
  const common = { model: "m", keep_alive: -1, stream: false, prompt: "a" };
  for (const none of [{}, { suffix: "" }, { suffix: null }]) {
    assert.deepEqual(bodyOf(none), { ...common, raw: true });
  }
  assert.deepEqual(bodyOf({ suffix: "b" }), { ...common, suffix: "b" });
});

Deno.test("ollamaCall leaves to the OpenAI routes what its own dialect can not say", () => {
  const messages = [{ role: "user", content: "x" }];
  const left: readonly JsonObject[] = [
    { messages, logprobs: true },
    { messages, tool_choice: "required" },
    { messages: [{ role: "user", content: [{ type: "input_audio" }] }] },
    {
      messages: [{
        role: "user",
        content: [{ type: "image_url", image_url: { url: "http://h/a.png" } }],
      }],
    },
    {
      messages: [{
        role: "assistant",
        tool_calls: [{ function: { name: "f", arguments: "{" } }],
      }],
    },
    { messages: "none" },
  ];
  for (const body of left) {
    assert.equal(
      ollamaCall(CHAT, { model: "m", ...body }, { keepAliveMs: 0 }),
      null,
    );
  }
  assert.equal(
    ollamaCall("/v1/rerank", { model: "m" }, { keepAliveMs: 0 }),
    null,
  );
});

Deno.test("keep_alive and num_ctx reach an Ollama as the client said, and its answers come back in OpenAI's events", async () => {
  await using server = startFakeOllama();
  await using setup = await setUpUpstreams({ kind: "ollama", url: server.url });
  const { status, text } = await setup.ask({
    model: MODEL,
    upkeep: { keepAliveMs: null, contextLength: 8_192 },
  });
  assert.equal(status, 200);
  assert.match(
    text,
    /"content":"one".*"content":" two".*"finish_reason":"stop".*\[DONE\]/s,
  );
  const [call] = server.callsOf("/api/chat");
  assert.equal(call?.body.keep_alive, -1);
  assert.equal(call?.body.options.num_ctx, 8_192);
  assert.equal(server.callsOf(CHAT).length, 0);
  const whole = await setup.ask({
    model: MODEL,
    stream: false,
    upkeep: { keepAliveMs: 60_000 },
  });
  const answer = JSON.parse(whole.text);
  assert.equal(answer.choices[0].message.content, "one two");
  assert.deepEqual(answer.usage, {
    prompt_tokens: 7,
    completion_tokens: 2,
    total_tokens: 9,
  });
  // Who says nothing of it is asked as before.
  await setup.ask({ model: MODEL });
  assert.equal(server.callsOf(CHAT).length, 1);
  // Its OpenAI routes pass over these.
  const messages = [{ role: "user", content: "hello" }];
  await setup.ask({
    model: MODEL,
    body: {
      messages,
      stream: true,
      top_k: 20,
      chat_template_kwargs: { enable_thinking: false },
    },
  });
  assert.equal(server.callsOf(CHAT).length, 1);
  assert.deepEqual(server.callsOf("/api/chat").at(-1)?.body, {
    model: MODEL,
    messages,
    stream: true,
    options: { top_k: 20 },
    think: false,
  });
  const vectors = await setup.ask({
    model: "nomic:latest",
    capability: "embedding",
    stream: false,
    body: { input: ["a", "b"] },
    inputCount: 2,
    upkeep: { keepAliveMs: 0 },
  });
  assert.equal(JSON.parse(vectors.text).data.length, 2);
  assert.equal(server.callsOf("/api/embed")[0]?.body.keep_alive, "0ms");
});

Deno.test("a tool call of Ollama's own dialect comes back with its arguments as text", async () => {
  await using server = startFakeOllama();
  await using setup = await setUpUpstreams({ kind: "ollama", url: server.url });
  const { text } = await setup.ask({
    model: MODEL,
    body: {
      messages: [{ role: "user", content: "weather?" }],
      tools: [{ type: "function", function: { name: "f" } }],
    },
    upkeep: { keepAliveMs: 60_000 },
  });
  assert.match(text, /"name":"f","arguments":"\{\\"city\\":\\"Bern\\"\}"/);
  assert.match(text, /"finish_reason":"tool_calls"/);
});

Deno.test("an Ollama is told to load and to unload; num_ctx beyond training is refused before it is asked", async () => {
  await using server = startFakeOllama();
  await using setup = await setUpUpstreams({ kind: "ollama", url: server.url });
  const loaded = await setup.ask({
    model: MODEL,
    stream: false,
    upkeep: { keepAliveMs: null, only: "load" },
  });
  assert.equal(JSON.parse(loaded.text).choices[0].message.content, "one two");
  assert.deepEqual(server.callsOf("/api/generate")[0]?.body, {
    model: MODEL,
    keep_alive: -1,
    stream: false,
  });
  const [outcome] = await setup.router.unload(
    MODEL,
    { source: { kind: "unsaid" }, evenPinned: true },
    never,
  );
  assert.equal(outcome?.unloaded, true);
  assert.deepEqual(server.callsOf("/api/generate")[1]?.body, {
    model: MODEL,
    keep_alive: 0,
    stream: false,
  });
  await assert.rejects(
    setup.ask({ model: MODEL, upkeep: { contextLength: 65_536 } }),
    (error) =>
      error instanceof Fault && error.code === "context_length_exceeded" &&
      /can have 32768 tokens/.test(error.message),
  );
});

Deno.test("ollamaEvents writes the same however the lines were cut, and an error as an error", async () => {
  const lines = [
    { message: { content: "", thinking: "hm" }, done: false },
    { message: { content: "grüezi" }, done: false },
    {
      message: { content: "" },
      done: true,
      done_reason: "length",
      eval_count: 3,
    },
  ].map((line) => `${JSON.stringify(line)}\n`).join("");
  const through = async (size: number, text: string) => {
    const bytes = new TextEncoder().encode(text);
    const pieces = Array.from(
      { length: Math.ceil(bytes.length / size) },
      (_, at) => bytes.slice(at * size, (at + 1) * size),
    );
    return await new Response(
      ReadableStream.from(pieces).pipeThrough(ollamaEvents("chat", "m")),
    ).text();
  };
  const whole = await through(10_000, lines);
  assert.equal(await through(1, lines), whole);
  assert.match(whole, /"reasoning_content":"hm"/);
  assert.match(whole, /"content":"grüezi"/);
  assert.match(whole, /"finish_reason":"length"/);
  assert.equal(
    await through(7, '{"error":"out of memory"}\n'),
    'data: {"error":{"message":"out of memory"}}\n\n',
  );
});
