import assert from "node:assert/strict";
import fc from "fast-check";
import { translateStream } from "../../../src/api/dialect/translate_stream.ts";
import { ResponseEvents } from "../../../src/api/openai/response_events.ts";
import { apiUnderTest, errorOf, LOOPBACK, post } from "../api_under_test.ts";
import {
  CALLS,
  chunk,
  cuts,
  DONE,
  eventsOf,
  oneByOne,
  through,
  unnumbered,
  WIDE,
} from "../dialect/streams.ts";

const PATH = "/v1/responses";

function translate(
  pieces: readonly Uint8Array<ArrayBuffer>[],
  freeTools: readonly string[] = [],
): Promise<string> {
  const writer = new ResponseEvents({
    id: "resp_1",
    createdSeconds: 1,
    model: "m",
    request: { temperature: 0.5 },
    freeTools: new Set(freeTools),
  });
  return through(pieces, translateStream(writer, "s"));
}

const asOne = (text: string) => [new TextEncoder().encode(text)];

Deno.test("SSE-01 a response's events are numbered, in order, and the same for any cut", async () => {
  for (const source of [WIDE, CALLS]) {
    const whole = await translate(asOne(source));
    assert.equal(await translate(oneByOne(source)), whole);
    await fc.assert(
      fc.asyncProperty(cuts(source), async (pieces) => {
        assert.equal(await translate(pieces), whole);
      }),
      { numRuns: 50 },
    );
    const events = eventsOf(whole);
    assert.deepEqual(
      events.map((event) => event.sequence_number),
      events.map((_, n) => n),
    );
  }
  const events = eventsOf(await translate(asOne(WIDE)));
  assert.deepEqual(events.map(({ type }) => type), [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ]);
  const { response } = events.at(-1);
  assert.equal(response.output[0].content[0].text, "北🌍é fine");
  assert.equal(response.status, "completed");
  assert.equal(response.temperature, 0.5);
  assert.deepEqual(response.usage, {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 18,
  });
});

Deno.test("SSE-09 parallel calls are items of their own, whatever their index was", async () => {
  for (
    const [source, args] of [
      [CALLS, ['{"a": 1}', '{"b":12345678901234567890}']],
      [unnumbered(0, true), ['{"x":1}', '{"y":2}']],
      [unnumbered(undefined, false), ['{"x":1}', '{"y":2}']],
    ] as const
  ) {
    const events = eventsOf(await translate(asOne(source)));
    const done = events.filter(({ type }) =>
      type === "response.output_item.done"
    );
    assert.deepEqual(done.map(({ item }) => item.arguments), args);
    assert.deepEqual(done.map((event) => event.output_index), [0, 1]);
    assert.equal(new Set(done.map(({ item }) => item.call_id)).size, 2);
    assert.deepEqual(
      events.at(-1).response.output,
      done.map(({ item }) => item),
    );
  }
});

Deno.test("a tool of free text gets its text, not JSON", async () => {
  const source = chunk({
    tool_calls: [{
      id: "a",
      function: { name: "patch", arguments: '{"input":"a\\nb"}' },
    }],
  }) + chunk({}, "tool_calls") + DONE;
  const events = eventsOf(await translate(asOne(source), ["patch"]));
  const done = events.find(({ type }) => type === "response.output_item.done");
  assert.deepEqual(
    [done.item.type, done.item.input, done.item.call_id],
    ["custom_tool_call", "a\nb", "a"],
  );
});

Deno.test("an answer that was cut is incomplete; SSE-04 one that broke off has failed", async () => {
  const reasoning = chunk({ reasoning: "hm" }) + chunk({ content: "He" });
  const cut = eventsOf(
    await translate(asOne(reasoning + chunk({}, "length") + DONE)),
  ).at(-1);
  assert.equal(cut.type, "response.incomplete");
  assert.deepEqual(
    cut.response.output.map((
      item: { type: string; status?: string },
    ) => [item.type, item.status]),
    [["reasoning", undefined], ["message", "incomplete"]],
  );
  const text = await translate(asOne(`: queued\n\n${reasoning}`));
  assert(text.startsWith(": waiting\n\n"));
  const failed = eventsOf(text).at(-1);
  assert.equal(failed.type, "response.failed");
  assert.equal(failed.response.error.code, "server_error");
  assert(!text.includes("response.completed"));
});

Deno.test("items, tools and format become the internal dialect", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({
    body: JSON.stringify({
      choices: [{
        index: 0,
        message: {
          content: "hi",
          tool_calls: [{ function: { name: "f", arguments: "{}" } }],
        },
        finish_reason: "tool_calls",
      }],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    }),
  });
  const schema = { type: "object" };
  const response = await api.handle(
    post(PATH, {
      model: "m",
      instructions: "Be brief",
      store: true,
      include: ["reasoning.encrypted_content"],
      previous_response_id: null,
      max_output_tokens: 9,
      parallel_tool_calls: true,
      reasoning: { effort: "low" },
      tool_choice: { type: "function", name: "f" },
      tools: [
        { type: "function", name: "f", parameters: schema, strict: false },
        { type: "custom", name: "patch", format: { type: "grammar" } },
        { type: "web_search" },
      ],
      text: {
        format: { type: "json_schema", name: "n", schema, strict: true },
      },
      input: [
        { role: "developer", content: "and kind" },
        {
          role: "user",
          content: [{ type: "input_text", text: "look" }, {
            type: "input_image",
            image_url: "data:image/png;base64,AA",
          }],
        },
        { type: "reasoning", id: "rs", summary: [] },
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: "I call" }],
        },
        { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
        {
          type: "custom_tool_call",
          call_id: "b",
          name: "patch",
          input: "x",
        },
        { type: "function_call_output", call_id: "a", output: "one" },
        {
          type: "custom_tool_call_output",
          call_id: "b",
          output: [{ type: "input_text", text: "two" }],
        },
      ],
    }),
    LOOPBACK,
  );
  assert.equal(response.status, 200);
  const whole = await response.json();
  assert.equal(whole.id, "resp_decision-1");
  assert.deepEqual(
    whole.output.map(({ type }: { type: string }) => type),
    ["message", "function_call"],
  );
  assert.equal(whole.store, false);
  const call = (id: string, name: string, args: string) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  });
  const [request] = router.requests;
  assert.equal(request?.maxOutputTokens, 9);
  assert.deepEqual(request?.body.messages, [
    { role: "system", content: "Be brief\n\nand kind" },
    {
      role: "user",
      content: [{ type: "text", text: "look" }, {
        type: "image_url",
        image_url: { url: "data:image/png;base64,AA" },
      }],
    },
    {
      role: "assistant",
      content: "I call",
      tool_calls: [call("a", "f", "{}"), call("b", "patch", '{"input":"x"}')],
    },
    { role: "tool", tool_call_id: "a", content: "one" },
    { role: "tool", tool_call_id: "b", content: "two" },
  ]);
  assert.deepEqual(request?.body.response_format, {
    type: "json_schema",
    json_schema: { name: "n", schema, strict: true },
  });
  const tools = request?.body.tools;
  assert(Array.isArray(tools) && tools.length === 2);
  assert.deepEqual(request?.body.tool_choice, {
    type: "function",
    function: { name: "f" },
  });
});

Deno.test("what a tool shows, the user shows once all tools have answered", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: '{"choices":[]}' });
  const picture = (data: string) => `data:image/png;base64,${data}`;
  const result = (id: string, data: string) => ({
    type: "function_call_output",
    call_id: id,
    output: [
      { type: "input_text", text: id },
      { type: "input_image", image_url: picture(data) },
    ],
  });
  const part = (data: string) => ({
    type: "image_url",
    image_url: { url: picture(data) },
  });
  const results = [
    { role: "tool", tool_call_id: "a", content: "a" },
    { role: "tool", tool_call_id: "b", content: "b" },
    { role: "user", content: [part("AA"), part("BB")] },
  ];
  for (const more of [[], [{ role: "user", content: "so?" }]]) {
    const input = [result("a", "AA"), result("b", "BB"), ...more];
    await api.handle(post(PATH, { model: "m", input }), LOOPBACK);
    assert.deepEqual(router.requests.at(-1)?.body.messages, [
      ...results,
      ...more,
    ]);
    assert.deepEqual(router.requests.at(-1)?.needs, ["vision"]);
  }
});

Deno.test("what needs a store is a named 501, what is wrong a 400 with its place", async () => {
  const { api, router } = apiUnderTest();
  const table: [object, number, RegExp][] = [
    [{ input: "x", previous_response_id: "r" }, 501, /"previous_response_id"/],
    [{ input: "x", conversation: "c" }, 501, /"conversation"/],
    [{ input: "x", background: true }, 501, /"background"/],
    [
      { input: "x", include: ["message.output_text.logprobs"] },
      501,
      /logprobs/,
    ],
    [{ input: [{ type: "item_reference", id: "i" }] }, 501, /input\[0\]/],
    [{}, 400, /"input"/],
    [{ input: [] }, 400, /"input"/],
    [{ input: [{ role: "robot", content: "" }] }, 400, /input\[0\]\.role/],
    [{ input: [{ type: "function_call", name: "f" }] }, 400, /call_id/],
    [
      {
        input: [
          { type: "function_call", call_id: "a", name: "f", arguments: "{}{}" },
        ],
      },
      400,
      /input\[0\]\.arguments/,
    ],
    [{ input: [{ type: "web_search_call" }] }, 400, /"input"/],
    [{ input: "x", tools: [{ type: "function" }] }, 400, /tools\[0\]/],
    [{ input: "x", max_output_tokens: 0 }, 400, /max_output_tokens/],
    [
      { input: [{ role: "user", content: [{ type: "input_file" }] }] },
      501,
      /input_file/,
    ],
  ];
  for (const [body, status, message] of table) {
    const response = await api.handle(
      post(PATH, { model: "m", ...body }),
      LOOPBACK,
    );
    assert.equal(response.status, status, JSON.stringify(body));
    assert.match((await errorOf(response)).message, message);
  }
  assert.equal(router.requests.length, 0);
});
