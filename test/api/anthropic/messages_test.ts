import assert from "node:assert/strict";
import fc from "fast-check";
import { MessageEvents } from "../../../src/api/anthropic/message_events.ts";
import { translateStream } from "../../../src/api/dialect/translate_stream.ts";
import { apiUnderTest, LOOPBACK, post } from "../api_under_test.ts";
import {
  CALLS,
  chunk,
  cuts,
  DONE,
  eventsOf,
  oneByOne,
  through,
  unnumbered,
  USAGE,
  WIDE,
} from "../dialect/streams.ts";

const PATH = "/v1/messages";
const EVENTS = "text/event-stream";
const ASK = {
  model: "m",
  max_tokens: 50,
  messages: [{ role: "user", content: "hello" }],
};

function translate(
  pieces: readonly Uint8Array<ArrayBuffer>[],
  stops: readonly string[] = [],
): Promise<string> {
  const writer = new MessageEvents({
    id: "msg_1",
    model: "m",
    stops,
    promptTokens: 3,
  });
  return through(pieces, translateStream(writer, "s"));
}

const asOne = (text: string) => [new TextEncoder().encode(text)];

/** Events in short: type, and the block's index and kind. */
function grammar(text: string): string[] {
  return eventsOf(text).map((event) =>
    [
      event.type,
      event.index,
      event.content_block?.type ?? event.delta?.type ??
        event.delta?.stop_reason,
    ].filter((part) => part !== undefined).join(" ")
  );
}

Deno.test("TRN-01 two calls first give blocks opened and closed in turn", async () => {
  const text = await translate(asOne(CALLS));
  assert.deepEqual(grammar(text), [
    "message_start",
    "content_block_start 0 tool_use",
    "content_block_delta 0 input_json_delta",
    "content_block_delta 0 input_json_delta",
    "content_block_stop 0",
    "content_block_start 1 tool_use",
    "content_block_delta 1 input_json_delta",
    "content_block_stop 1",
    "message_delta tool_use",
    "message_stop",
  ]);
  const events = eventsOf(text);
  assert.deepEqual(events[1].content_block, {
    type: "tool_use",
    id: "c1",
    name: "f",
    input: {},
  });
  assert.deepEqual(events.at(-2).usage, {
    input_tokens: 7,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 4,
    output_tokens: 7,
  });
  assert.match(text, /12345678901234567890/);
});

Deno.test("SSE-01 events are the same however the engine's bytes were cut", async () => {
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
  const said = eventsOf(await translate(oneByOne(WIDE)))
    .map((event) => event.delta?.text ?? "").join("");
  assert.equal(said, "北🌍é fine");
});

Deno.test("SSE-09 calls without their own index become two blocks", async () => {
  for (const index of [0, undefined]) {
    for (const ids of [true, false]) {
      const events = eventsOf(await translate(asOne(unnumbered(index, ids))));
      const blocks = events.filter((one) => one.type === "content_block_start");
      assert.deepEqual(
        blocks.map((one) => [one.index, one.content_block.name]),
        [[0, "f"], [1, "g"]],
      );
      assert.equal(new Set(blocks.map((one) => one.content_block.id)).size, 2);
      const args = events.filter((one) => one.delta?.partial_json)
        .map((one) => JSON.parse(one.delta.partial_json));
      assert.deepEqual(args, [{ x: 1 }, { y: 2 }]);
      assert.equal(events.at(-2).delta.stop_reason, "tool_use");
    }
  }
});

Deno.test("TRN-01 calls whose arguments interleave still close one before the next opens", async () => {
  const part = (index: number, args: string, head = {}) =>
    chunk({
      tool_calls: [{
        index,
        ...head,
        function: { name: "f", arguments: args },
      }],
    });
  const text = await translate(asOne(
    part(0, "", { id: "a" }) + part(1, "", { id: "b" }) + part(0, '{"x"') +
      part(1, '{"y":') + part(0, ":1}") + part(1, "2}") +
      chunk({}, "tool_calls") + DONE,
  ));
  assert.deepEqual(grammar(text).slice(1, -2), [
    "content_block_start 0 tool_use",
    "content_block_delta 0 input_json_delta",
    "content_block_delta 0 input_json_delta",
    "content_block_stop 0",
    "content_block_start 1 tool_use",
    "content_block_delta 1 input_json_delta",
    "content_block_delta 1 input_json_delta",
    "content_block_stop 1",
  ]);
});

Deno.test("thinking, text and a call are three blocks", async () => {
  const text = await translate(asOne(
    chunk({ reasoning_content: "hm" }) + chunk({ content: "I call" }) +
      chunk({ tool_calls: [{ id: "a", function: { name: "f" } }] }) +
      chunk({}, "tool_calls") + DONE,
  ));
  assert.deepEqual(
    eventsOf(text).filter((one) => one.content_block)
      .map((one) => one.content_block.type),
    ["thinking", "text", "tool_use"],
  );
});

Deno.test("SSE-03 comments before the message stay comments and become pings in it", async () => {
  const text = await translate(asOne(
    `: queued\n\n:\n\n${chunk({ content: "a" })}: wait\n\n${
      chunk({}, "stop")
    }${DONE}`,
  ));
  assert(text.startsWith(": waiting\n\n: waiting\n\nevent: message_start"));
  assert(grammar(text).includes("ping"));
  assert(!text.includes("data: :"));
});

Deno.test("SSE-04 a stream that breaks off ends in an error and never in message_stop", async () => {
  const start = chunk({ content: "Here" });
  const broken = await translate(asOne(start));
  assert.equal(grammar(broken).at(-1), "error");
  const told = await translate(asOne(
    start +
      'data: {"error":{"message":"gone","type":"server_error","origin":"covey"}}\n\n',
  ));
  assert.deepEqual(eventsOf(told).at(-1), {
    type: "error",
    error: { type: "api_error", message: "gone", origin: "covey" },
  });
  for (const text of [broken, told]) assert(!text.includes("message_stop"));
  assert(broken.includes("event: error\n"));
});

Deno.test("a stop sequence is named where the engine names it", async () => {
  const stopped = `data: ${
    JSON.stringify({
      choices: [{
        index: 0,
        delta: {},
        finish_reason: "stop",
        stop_reason: "END",
      }],
    })
  }\n\n`;
  const text = await translate(
    asOne(chunk({ content: "a" }) + stopped + DONE),
    ["END"],
  );
  assert.deepEqual(eventsOf(text).at(-2).delta, {
    stop_reason: "stop_sequence",
    stop_sequence: "END",
  });
});

Deno.test("TRN-01 a whole answer has both tool_use blocks, its numbers exact", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({
    body: `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{
      "role":"assistant","content":null,"tool_calls":[
      {"id":"a","type":"function","function":{"name":"f","arguments":"{\\"n\\":12345678901234567890}"}},
      {"type":"function","function":{"name":"g","arguments":"{}"}}]}}],
      "usage":{"prompt_tokens":5,"completion_tokens":2}}`,
  });
  const response = await api.handle(post(PATH, ASK), LOOPBACK);
  assert.equal(response.headers.get("x-covey-decision"), "decision-1");
  const text = await response.text();
  assert.match(text, /"input":\{"n":12345678901234567890\}/);
  const message = JSON.parse(text);
  assert.equal(message.id, "msg_decision-1");
  assert.equal(message.stop_reason, "tool_use");
  assert.deepEqual(
    message.content.map((block: { type: string; name: string }) => [
      block.type,
      block.name,
    ]),
    [["tool_use", "f"], ["tool_use", "g"]],
  );
  assert.notEqual(message.content[1].id, "");
  assert.deepEqual(message.usage.input_tokens, 5);
});

Deno.test("SSE-14 an answer is one object unless a stream is asked for", async () => {
  const { api, router } = apiUnderTest();
  router.answer = (request) =>
    request.stream ? { body: WIDE, contentType: EVENTS } : {
      body: JSON.stringify({
        choices: [{ index: 0, message: { content: "hi" } }],
      }),
    };
  for (const stream of [undefined, null, false]) {
    const response = await api.handle(
      post(`${PATH}?beta=true`, { ...ASK, stream }, {
        "anthropic-beta": "never-heard-of-2031-01-01",
      }),
      LOOPBACK,
    );
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal((await response.json()).content[0].text, "hi");
    assert.equal(router.requests.at(-1)?.body.stream, false);
  }
  const response = await api.handle(
    post(PATH, { ...ASK, stream: true }),
    LOOPBACK,
  );
  assert.match(response.headers.get("content-type") ?? "", /event-stream/);
  assert.match(response.headers.get("cache-control") ?? "", /no-transform/);
  await response.body?.cancel();
  assert.equal(router.requests.at(-1)?.includeUsage, true);
});

Deno.test("a conversation with tools, pictures and thinking becomes the internal dialect", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: '{"choices":[]}' });
  const response = await api.handle(
    post("/cluster/v1/messages", {
      ...ASK,
      system: [
        { type: "text", text: "Be", cache_control: { type: "ephemeral" } },
        { type: "text", text: "brief" },
      ],
      messages: [
        {
          role: "user",
          content: [{ type: "text", text: "look" }, {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: "AAAA" },
          }],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "x" },
            { type: "redacted_thinking", data: "zz" },
            { type: "tool_use", id: "t1", name: "f", input: { a: 1 } },
            { type: "tool_use", id: "t2", name: "f", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t1", content: "one" },
            {
              type: "tool_result",
              tool_use_id: "t2",
              is_error: true,
              content: [],
            },
            { type: "text", text: "go on" },
          ],
        },
      ],
      stop_sequences: ["END"],
      tools: [{
        name: "f",
        description: "d",
        input_schema: { type: "object" },
      }],
      tool_choice: { type: "any", disable_parallel_tool_use: true },
      thinking: { type: "enabled", budget_tokens: 1024 },
      metadata: { user_id: "u" },
      context_management: { edits: [] },
    }),
    LOOPBACK,
  );
  await response.body?.cancel();
  assert.equal(response.status, 200);
  const [request] = router.requests;
  assert.deepEqual(request?.source, { kind: "cluster" });
  assert.deepEqual(request?.needs, ["tools", "vision"]);
  assert.deepEqual(request?.body, {
    model: "m",
    max_tokens: 50,
    stream: false,
    stop: ["END"],
    messages: [
      { role: "system", content: "Be\nbrief" },
      {
        role: "user",
        content: [{ type: "text", text: "look" }, {
          type: "image_url",
          image_url: { url: "data:image/png;base64,AAAA" },
        }],
      },
      {
        role: "assistant",
        content: null,
        reasoning_content: "hm",
        tool_calls: ["t1", "t2"].map((id, n) => ({
          id,
          type: "function",
          function: { name: "f", arguments: n === 0 ? '{"a":1}' : "{}" },
        })),
      },
      { role: "tool", tool_call_id: "t1", content: "one" },
      { role: "tool", tool_call_id: "t2", content: "The tool failed" },
      { role: "user", content: "go on" },
    ],
    tools: [{
      type: "function",
      function: {
        name: "f",
        description: "d",
        parameters: { type: "object" },
      },
    }],
    tool_choice: "required",
    parallel_tool_calls: false,
  });
});

Deno.test("REQ-01 empty stop_sequences reach no engine; output_format becomes a schema", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: '{"choices":[]}' });
  const schema = { type: "object" };
  await api.handle(
    post(PATH, {
      ...ASK,
      stop_sequences: [],
      output_config: { format: { type: "json_schema", schema } },
    }),
    LOOPBACK,
  );
  const body = router.requests[0]?.body;
  assert.equal(body?.stop, undefined);
  assert.deepEqual(body?.response_format, {
    type: "json_schema",
    json_schema: { name: "answer", schema, strict: true },
  });
});

Deno.test("thinking is turned off where that is asked for, and on by nobody", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: '{"choices":[]}' });
  for (
    const [thinking, expected] of [
      [{ type: "disabled" }, { enable_thinking: false }],
      [{ type: "enabled", budget_tokens: 1024 }, undefined],
      [{ type: "adaptive" }, undefined],
      [null, undefined],
    ] as const
  ) {
    await api.handle(post(PATH, { ...ASK, thinking }), LOOPBACK);
    const { body } = router.requests.at(-1) ?? {};
    assert.deepEqual(body?.chat_template_kwargs, expected);
  }
});

Deno.test("what is wrong is named in Anthropic's shape", async () => {
  const { api } = apiUnderTest();
  const user = (...content: unknown[]) => ({
    ...ASK,
    messages: [{ role: "user", content }],
  });
  const table: [unknown, number, RegExp][] = [
    [{ ...ASK, messages: [] }, 400, /"messages"/],
    [{ ...ASK, messages: [1] }, 400, /"messages\[0\]"/],
    [{ ...ASK, max_tokens: 0 }, 400, /"max_tokens"/],
    [{ ...ASK, system: 5 }, 400, /"system"/],
    [{ ...ASK, stop_sequences: "END" }, 400, /"stop_sequences"/],
    [{ ...ASK, messages: [{ role: "robot", content: "" }] }, 400, /role/],
    [user({ type: "tool_result" }), 400, /tool_use_id/],
    [user({ type: "image", source: { type: "file" } }), 400, /source/],
    [user({ type: "hologram" }), 501, /hologram/],
    [{ ...ASK, tools: [{ name: "f" }] }, 400, /input_schema/],
    [{ ...ASK, tools: [{ type: "web_search_20250305" }] }, 501, /web_search/],
    [{ ...ASK, mcp_servers: [{}] }, 501, /mcp_servers/],
    [{ ...ASK, model: undefined }, 400, /"model"/],
  ];
  for (const [body, status, message] of table) {
    const response = await api.handle(post(PATH, body), LOOPBACK);
    assert.equal(response.status, status, JSON.stringify(body));
    const { type, error } = await response.json();
    assert.equal(type, "error");
    assert.match(error.message, message);
    assert.equal(error.origin, "covey");
  }
});

Deno.test("an engine's refusal takes Anthropic's shape, without its paths", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({
    status: 429,
    retryAfter: "7",
    body: '{"error":{"message":"slow down /home/x/y"}}',
  });
  const response = await api.handle(post(PATH, ASK), LOOPBACK);
  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), "7");
  assert.deepEqual(await response.json(), {
    type: "error",
    error: {
      type: "rate_limit_error",
      message: "slow down [path]",
      origin: "engine",
    },
  });
});

Deno.test("count_tokens estimates without asking an engine", async () => {
  const { api, router } = apiUnderTest();
  const { max_tokens: _, ...rest } = ASK;
  const response = await api.handle(
    post(`${PATH}/count_tokens?beta=true`, {
      ...rest,
      system: "x".repeat(400),
    }),
    LOOPBACK,
  );
  const { input_tokens: tokens } = await response.json();
  assert(tokens >= 100 && tokens < 120, String(tokens));
  assert.equal(router.requests.length, 0);
});

Deno.test("usage that came is what message_delta says, whatever the order", async () => {
  const text = await translate(asOne(
    chunk({ content: "a" }) + USAGE + chunk({}, "length") + DONE,
  ));
  const last = eventsOf(text).at(-2);
  assert.equal(last.delta.stop_reason, "max_tokens");
  assert.equal(last.usage.output_tokens, 7);
});
