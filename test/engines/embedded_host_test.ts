import assert from "node:assert/strict";
import { hostOfFile, readStream } from "./embedded_host_driver.ts";

const host = hostOfFile("chat");
const say = (content: string) => [{ role: "user", content }];
const CHAT = "/v1/chat/completions";

Deno.test("engine host streams in OpenAI's shape with llama-server's timings", async () => {
  const response = await host.ask(CHAT, {
    model: "asked-name",
    messages: say("Hello"),
    seed: 1,
    max_tokens: 5,
    ignore_eos: true,
    stream: true,
    stream_options: { include_usage: true },
  });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const events = await readStream(response);
  assert.equal(events.at(-1), "[DONE]");
  const chunks = events.slice(0, -1);
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  const contents = chunks.slice(1, -2);
  assert.equal(contents.length, 5, "one event a token");
  for (const chunk of contents) {
    assert.equal(typeof chunk.choices[0].delta.content, "string");
    assert.equal(chunk.choices[0].finish_reason, null);
  }
  const [finish, usage] = chunks.slice(-2);
  assert.equal(finish.choices[0].finish_reason, "length");
  assert.deepEqual(usage.choices, []);
  assert.equal(usage.usage.completion_tokens, 5);
  assert.equal(
    usage.usage.total_tokens,
    usage.usage.prompt_tokens + usage.usage.completion_tokens,
  );
  for (
    const key of [
      "cache_n",
      "prompt_n",
      "prompt_ms",
      "prompt_per_token_ms",
      "prompt_per_second",
      "predicted_n",
      "predicted_ms",
      "predicted_per_token_ms",
      "predicted_per_second",
    ]
  ) {
    assert.equal(typeof finish.timings[key], "number", key);
  }
  for (const chunk of chunks) {
    assert.equal(chunk.id, chunks[0].id);
    assert.equal(chunk.model, "asked-name");
    assert.equal(chunk.object, "chat.completion.chunk");
  }
});

Deno.test("engine host says the same for the same seed, streamed or not", async () => {
  const ask = { messages: say("Sing"), max_tokens: 40, ignore_eos: true };
  const text = async (seed: number) =>
    (await host.json(CHAT, { ...ask, seed })).choices[0].message.content;
  const first = await text(7);
  assert.equal(await text(7), first);
  assert.notEqual(await text(8), first);
  const events = await readStream(
    await host.ask(CHAT, { ...ask, seed: 7, stream: true }),
  );
  const streamed = events.slice(0, -1)
    .map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
  assert.equal(streamed, first);
  const greedy = await host.json(CHAT, { ...ask, temperature: 0, seed: 1 });
  const again = await host.json(CHAT, { ...ask, temperature: 0, seed: 2 });
  assert.equal(
    greedy.choices[0].message.content,
    again.choices[0].message.content,
  );
});

Deno.test("engine host ends at a stop string that spans tokens and leaks none of it", async () => {
  const ask = {
    messages: say("Sing"),
    seed: 7,
    max_tokens: 40,
    ignore_eos: true,
  };
  const whole: string = (await host.json(CHAT, ask)).choices[0].message.content;
  const at = whole.indexOf(" ", 10) - 2;
  const stop = whole.slice(at, at + 5);
  const cut = await host.json(CHAT, { ...ask, stop: ["nowhere", stop] });
  assert.equal(cut.choices[0].finish_reason, "stop");
  assert.equal(
    cut.choices[0].message.content,
    whole.slice(0, whole.indexOf(stop)),
  );
  // Anthropic's dialect has to name it.
  assert.equal(cut.choices[0].stop_reason, stop);
  const events = await readStream(
    await host.ask(CHAT, { ...ask, stop: [stop], stream: true }),
  );
  const reasons = events.map((event) => event.choices?.[0]?.stop_reason)
    .filter((reason) => reason !== undefined);
  assert.deepEqual(reasons, [stop]);
});

Deno.test("engine host stops by itself at the end token and by max_tokens before", async () => {
  const free = await host.json(CHAT, { messages: say("Hello"), seed: 2 });
  assert.equal(free.choices[0].finish_reason, "stop");
  assert.match(free.choices[0].message.content, /^[A-Z][a-zA-Z .]+\.$/);
  assert.equal("stop_reason" in free.choices[0], false);
  const cut = await host.json(CHAT, {
    messages: say("Hello"),
    seed: 2,
    max_completion_tokens: 3,
  });
  assert.equal(cut.choices[0].finish_reason, "length");
  assert.equal(cut.usage.completion_tokens, 3);
});

Deno.test("engine host never says a token whose bias is -100, ends of the answer included", async () => {
  const ask = { messages: say("Sing"), seed: 3, max_tokens: 60 };
  const { tokens } = await host.json("/tokenize", { content: " door" });
  assert.equal(tokens.length, 1);
  const free = await host.json(CHAT, { ...ask, ignore_eos: true });
  assert.match(free.choices[0].message.content, / door/);
  const banned = await host.json(CHAT, {
    ...ask,
    ignore_eos: true,
    logit_bias: { [tokens[0]]: -100 },
  });
  assert.doesNotMatch(banned.choices[0].message.content, / door/);
  const listed = await host.json(CHAT, {
    ...ask,
    ignore_eos: true,
    logit_bias: [[" door", false]],
  });
  assert.equal(
    listed.choices[0].message.content,
    banned.choices[0].message.content,
  );
  const end = await host.json("/tokenize", { content: "<|im_end|>" });
  const endless = await host.json(CHAT, {
    ...ask,
    logit_bias: { [end.tokens[0]]: -100 },
  });
  assert.equal(endless.choices[0].finish_reason, "length");
  const unknown = await host.ask(CHAT, { ...ask, logit_bias: { 99999: 1 } });
  assert.equal(unknown.status, 400);
  assert.equal((await unknown.json()).error.param, "logit_bias");
});

Deno.test("engine host repeats itself less under penalties", async () => {
  const ask = {
    messages: say("Sing"),
    seed: 3,
    max_tokens: 60,
    ignore_eos: true,
    temperature: 0,
  };
  const distinct = async (more: Record<string, number>) => {
    const { choices } = await host.json(CHAT, { ...ask, ...more });
    return new Set(choices[0].message.content.split(" ")).size;
  };
  const free = await distinct({});
  assert.ok(await distinct({ frequency_penalty: 1.5 }) > free);
  assert.ok(await distinct({ presence_penalty: 1.5 }) > free);
  assert.ok(await distinct({ repeat_penalty: 1.5 }) > free);
});

Deno.test("engine host writes valid JSON for a bounded schema and names what it can not express", async () => {
  const schema = {
    type: "object",
    properties: {
      colour: { enum: ["red", "green"] },
      sure: { type: "boolean" },
      count: { type: "integer", minimum: 1, maximum: 12 },
    },
    required: ["colour", "sure"],
  };
  for (const seed of [1, 2, 3]) {
    const answer = await host.json(CHAT, {
      messages: say("Which?"),
      seed,
      max_tokens: 100,
      response_format: { type: "json_schema", json_schema: { schema } },
    });
    assert.equal(answer.choices[0].finish_reason, "stop");
    const value = JSON.parse(answer.choices[0].message.content);
    assert.ok(["red", "green"].includes(value.colour));
    assert.equal(typeof value.sure, "boolean");
    if ("count" in value) assert.ok(value.count >= 1 && value.count <= 12);
  }
  const free = await host.json(CHAT, {
    messages: say("Which?"),
    seed: 1,
    max_tokens: 4,
    response_format: { type: "json_object" },
  });
  assert.match(free.choices[0].message.content, /^\{/);
  const refused = await host.ask(CHAT, {
    messages: say("Which?"),
    response_format: {
      type: "json_schema",
      json_schema: { schema: { type: "string", pattern: "x" } },
    },
  });
  assert.equal(refused.status, 400);
  assert.match((await refused.json()).error.message, /"pattern"/);
  const broken = await host.ask(CHAT, {
    messages: say("Which?"),
    grammar: "root ::= (",
  });
  assert.equal(broken.status, 400);
  await broken.body?.cancel();
});

const TOOLS = [
  {
    type: "function",
    function: {
      name: "get_weather",
      parameters: {
        type: "object",
        properties: { city: { enum: ["Paris", "Rome"] } },
        required: ["city"],
      },
    },
  },
  {
    type: "function",
    function: {
      name: "set_light",
      parameters: {
        type: "object",
        properties: { on: { type: "boolean" } },
        required: ["on"],
      },
    },
  },
];

Deno.test("engine host makes the tool call that is demanded", async () => {
  const named = await host.json(CHAT, {
    messages: say("Weather?"),
    tools: TOOLS,
    tool_choice: { type: "function", function: { name: "get_weather" } },
    seed: 1,
  });
  const [choice] = named.choices;
  assert.equal(choice.finish_reason, "tool_calls");
  assert.equal(choice.message.content, null);
  assert.equal(choice.message.tool_calls.length, 1);
  const [call] = choice.message.tool_calls;
  assert.match(call.id, /^call_/);
  assert.equal(call.function.name, "get_weather");
  assert.match(JSON.parse(call.function.arguments).city, /^(Paris|Rome)$/);
  const events = await readStream(
    await host.ask(CHAT, {
      messages: say("Light?"),
      tools: TOOLS,
      tool_choice: "required",
      seed: 2,
      stream: true,
    }),
  );
  const deltas = events.slice(0, -1)
    .flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? []);
  assert.equal(deltas[0].type, "function");
  assert.match(deltas[0].id, /^call_/);
  assert.ok(deltas.length > 2);
  for (const delta of deltas) assert.equal(delta.index, 0);
  const text = deltas.map((delta) => delta.function.arguments).join("");
  assert.equal(typeof JSON.parse(text), "object");
  assert.equal(
    events.at(-2).choices[0].finish_reason,
    "tool_calls",
  );
});

Deno.test("engine host leaves the choice to the model, and takes results back", async () => {
  const messages = [
    ...say("Weather?"),
    {
      role: "assistant",
      content: null,
      tool_calls: [{
        id: "call_1",
        type: "function",
        function: { name: "get_weather", arguments: '{"city": "Rome"}' },
      }],
    },
    { role: "tool", tool_call_id: "call_1", content: "sunny" },
  ];
  const { prompt } = await host.json("/apply-template", {
    messages,
    tools: TOOLS,
  });
  assert.match(prompt, /<tools>[^]*set_light[^]*<\/tools>/);
  assert.match(
    prompt,
    /\{"name": "get_weather", "arguments": \{"city": "Rome"\}\}/,
  );
  assert.match(prompt, /<\|im_start\|>tool\nsunny<\|im_end\|>/);
  const answer = await host.json(CHAT, {
    messages,
    tools: TOOLS,
    seed: 2,
    max_tokens: 30,
  });
  assert.notEqual(answer.choices[0].message.content, null);
  // Pushed to begin a call, the model is held to the form of one.
  const { tokens } = await host.json("/tokenize", { content: "<" });
  const pushed = await host.json(CHAT, {
    messages,
    tools: TOOLS,
    seed: 5,
    max_tokens: 200,
    response_format: {
      type: "json_schema",
      json_schema: { schema: { const: 1 } },
    },
    logit_bias: { [tokens[0]]: 50 },
  });
  assert.equal(pushed.choices[0].finish_reason, "tool_calls");
  const [call] = pushed.choices[0].message.tool_calls;
  assert.equal(typeof JSON.parse(call.function.arguments), "object");
});

Deno.test("engine host evaluates only what is new in a second turn", async () => {
  const first = await host.json(CHAT, {
    messages: say("Tell me of the quiet moon."),
    seed: 9,
    max_tokens: 20,
  });
  const second = await host.json(CHAT, {
    messages: [
      ...say("Tell me of the quiet moon."),
      first.choices[0].message,
      ...say("And then?"),
    ],
    seed: 9,
    max_tokens: 5,
  });
  const { cache_n, prompt_n } = second.timings;
  assert.ok(cache_n >= first.usage.prompt_tokens, `reused ${cache_n}`);
  assert.equal(cache_n + prompt_n, second.usage.prompt_tokens);
  assert.equal(
    second.usage.prompt_tokens_details.cached_tokens,
    cache_n,
  );
});

Deno.test("engine host refuses what does not fit and stops at the end of the context", async () => {
  const long = await host.ask(CHAT, { messages: say("q".repeat(3000)) });
  assert.equal(long.status, 400);
  const { error } = await long.json();
  assert.equal(error.type, "exceed_context_size_error");
  assert.equal(error.code, "context_length_exceeded");
  assert.equal(error.n_ctx, 2048);
  assert.ok(error.n_prompt_tokens > 3000);
  const full = await host.json("/v1/completions", {
    prompt: Array.from({ length: 2000 }, () => 40),
    ignore_eos: true,
  });
  assert.equal(full.choices[0].finish_reason, "length");
  assert.equal(full.usage.total_tokens, 2048);
});

Deno.test("engine host completes a prompt of text or tokens alike", async () => {
  const ask = { max_tokens: 8, seed: 4, ignore_eos: true };
  const { tokens } = await host.json("/tokenize", {
    content: "The fox",
    add_special: true,
  });
  const fromText = await host.json("/v1/completions", {
    ...ask,
    prompt: "The fox",
  });
  assert.equal(fromText.object, "text_completion");
  const fromTokens = await host.json("/v1/completions", {
    ...ask,
    prompt: tokens,
  });
  assert.equal(fromTokens.choices[0].text, fromText.choices[0].text);
  const events = await readStream(
    await host.ask("/v1/completions", {
      ...ask,
      prompt: ["The fox"],
      stream: true,
      stream_options: { include_usage: true },
    }),
  );
  assert.equal(events.at(-1), "[DONE]");
  assert.equal(events.at(-2).usage.completion_tokens, 8);
  const text = events.slice(0, -2).map((chunk) => chunk.choices[0].text);
  assert.equal(text.join(""), fromText.choices[0].text);
  for (
    const [body, param] of [
      [{ prompt: "a", echo: true }, "echo"],
      [{ prompt: ["a", "b"] }, "prompt"],
      [{ prompt: [] }, "prompt"],
      [{ prompt: [99999] }, "prompt"],
      [{}, "prompt"],
    ] as const
  ) {
    const refused = await host.ask("/v1/completions", body);
    assert.equal(refused.status, 400);
    assert.equal((await refused.json()).error.param, param);
  }
});

Deno.test("engine host asks for its token and answers bad requests in OpenAI's shape", async () => {
  for (const token of [null, "", "0123456789abcdee"]) {
    const response = await host.ask("/health", undefined, { token });
    assert.equal(response.status, 401);
    await response.body?.cancel();
  }
  const table: readonly (readonly [string, unknown, number])[] = [
    ["/v1/chat/completions", "{not json", 400],
    ["/v1/chat/completions", "[]", 400],
    ["/v1/chat/completions", { messages: say("a"), n: 17 }, 400],
    ["/v1/embeddings", { input: "a" }, 501],
    ["/v1/nothing", {}, 404],
    ["/slots", {}, 404],
  ];
  for (const [path, body, status] of table) {
    const response = await host.ask(path, body);
    assert.equal(response.status, status, path);
    const { error } = await response.json();
    assert.equal(typeof error.message, "string");
    assert.equal(typeof error.type, "string");
  }
  assert.deepEqual(await host.json("/health"), { status: "ok" });
  const props = await host.json("/props");
  assert.equal(props.total_slots, 2);
  assert.equal(props.default_generation_settings.n_ctx, 2048);
});
