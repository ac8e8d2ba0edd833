import assert from "node:assert/strict";
import fc from "fast-check";
import { MessageEvents } from "../../../src/api/anthropic/message_events.ts";
import {
  type AnswerWriter,
  translateStream,
} from "../../../src/api/dialect/translate_stream.ts";
import { AnswerLines } from "../../../src/api/ollama/answer_lines.ts";
import { ResponseEvents } from "../../../src/api/openai/response_events.ts";
import { apiUnderTest, LOOPBACK, post } from "../api_under_test.ts";
import { chunk, cuts, through, WIDE } from "./streams.ts";

/** A whole request of each route, to be spoiled. */
const BODIES: Readonly<Record<string, object>> = {
  "/v1/messages": {
    model: "m",
    max_tokens: 5,
    system: [{ type: "text", text: "s" }],
    stop_sequences: ["x"],
    tools: [{ name: "f", input_schema: { type: "object" } }],
    tool_choice: { type: "tool", name: "f" },
    messages: [
      { role: "user", content: [{ type: "text", text: "a" }] },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "i", name: "f", input: {} }],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "i", content: "r" }],
      },
    ],
  },
  "/v1/messages/count_tokens": {
    model: "m",
    messages: [{ role: "user", content: "a" }],
  },
  "/v1/responses": {
    model: "m",
    instructions: "s",
    max_output_tokens: 5,
    tools: [{ type: "function", name: "f", parameters: {} }],
    tool_choice: { type: "function", name: "f" },
    text: { format: { type: "json_schema", name: "n", schema: {} } },
    reasoning: { effort: "low" },
    input: [
      { role: "user", content: [{ type: "input_text", text: "a" }] },
      { type: "function_call", call_id: "i", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "i", output: "r" },
    ],
  },
  "/api/chat": {
    model: "m",
    format: { type: "object" },
    options: { num_predict: 5, stop: ["x"], temperature: 1 },
    think: true,
    tools: [{ type: "function", function: { name: "f" } }],
    messages: [
      { role: "user", content: "a", images: ["iVBOR"] },
      {
        role: "assistant",
        tool_calls: [{ function: { name: "f", arguments: {} } }],
      },
      { role: "tool", content: "r", tool_name: "f" },
    ],
  },
  "/api/generate": {
    model: "m",
    prompt: "a",
    system: "s",
    images: ["iVBOR"],
    raw: false,
    options: { stop: "x" },
  },
  "/api/embed": { model: "m", input: ["a"], dimensions: 2 },
  "/api/embeddings": { model: "m", prompt: "a" },
  "/api/show": { model: "m" },
};

/** Every place in a JSON value, the root aside. */
function* places(
  value: unknown,
  path: readonly string[] = [],
): Generator<readonly string[]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    yield [...path, key];
    yield* places(inner, [...path, key]);
  }
}

function spoiled(
  value: unknown,
  [key = "", ...rest]: readonly string[],
  put: unknown,
): unknown {
  const change = (inner: unknown) =>
    rest.length === 0 ? put : spoiled(inner, rest, put);
  if (Array.isArray(value)) {
    return value.map((one, n) => String(n) === key ? change(one) : one);
  }
  return Object.fromEntries(
    Object.entries(value as object).map((
      [name, inner],
    ) => [name, name === key ? change(inner) : inner]),
  );
}

Deno.test("a request with any one value spoiled is served or refused by name, never broken", async () => {
  const { api, router } = apiUnderTest();
  router.answer = ({ capability, inputCount }) => ({
    body: capability === "embedding"
      ? JSON.stringify({
        data: Array.from({ length: inputCount }, (_, index) => ({
          index,
          embedding: [1, 2],
        })),
      })
      : '{"choices":[{"index":0,"message":{"content":"a"}}]}',
  });
  for (const [path, body] of Object.entries(BODIES)) {
    const all = [...places(body)];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...all),
        fc.oneof(
          fc.jsonValue(),
          fc.constantFrom(null, -1, 0, 1e300, "", [], {}, [[]], [null], true),
        ),
        async (place, put) => {
          const response = await api.handle(
            post(path, spoiled(body, place, put)),
            LOOPBACK,
          );
          const text = await response.text();
          const { status } = response;
          assert(
            status < 500 || status === 501 || status === 502,
            `${path} ${place} ${JSON.stringify(put)}: ${status} ${text}`,
          );
          if (status === 502) assert.match(text, /can not be used/);
        },
      ),
      { numRuns: 300 },
    );
  }
});

const WRITERS: Readonly<Record<string, () => AnswerWriter>> = {
  anthropic: () =>
    new MessageEvents({ id: "i", model: "m", stops: [], promptTokens: 1 }),
  ollama: () =>
    new AnswerLines({
      kind: "chat",
      model: "m",
      createdAt: "",
      only: null,
      elapsedMs: () => 1,
    }),
  responses: () =>
    new ResponseEvents({
      id: "resp_i",
      createdSeconds: 1,
      model: "m",
      request: {},
      freeTools: new Set(),
    }),
};

/** How a stream of each dialect may end. */
const ENDS: Readonly<Record<string, RegExp>> = {
  anthropic: /event: (?:message_stop|error)\n[^\n]*\n\n$/,
  ollama: /\{(?:"error"|[^\n]*"done":true)[^\n]*\n$/,
  responses: /event: response\.(?:completed|incomplete|failed)\n[^\n]*\n\n$/,
};

Deno.test("whatever an engine streams, a dialect's stream ends once and by its own rules", async () => {
  const event = fc.oneof(
    fc.jsonValue().map((value) => `data: ${JSON.stringify(value)}\n\n`),
    fc.jsonValue().map((delta) => chunk(delta)),
    fc.jsonValue().map((call) => chunk({ tool_calls: [call] })),
    fc.record({
      index: fc.option(fc.nat(2)),
      id: fc.option(fc.constantFrom("a", "b", "")),
      function: fc.record({
        name: fc.option(fc.constantFrom("f", "g")),
        arguments: fc.constantFrom("", '{"a":1}', "{", "}"),
      }),
    }).map((call) => chunk({ tool_calls: [call] })),
    fc.constantFrom(
      WIDE,
      chunk({ content: "é" }),
      chunk({ reasoning: "r" }),
      ": alive\n\n",
      "data: [DONE]\n\n",
      chunk({}, "length"),
    ),
    fc.string().map((text) => `data: ${text}\n\n`),
  );
  for (const [dialect, writer] of Object.entries(WRITERS)) {
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 12 }).map((events) => events.join(""))
          .chain((text) => fc.tuple(fc.constant(text), cuts(text))),
        async ([text, pieces]) => {
          const whole = await through(
            [new TextEncoder().encode(text)],
            translateStream(writer(), "s"),
          );
          const cut = await through(pieces, translateStream(writer(), "s"));
          assert.equal(cut, whole);
          assert.match(whole, ENDS[dialect] ?? /^$/);
          const ends = whole.match(
            /event: (?:message_stop|error|response\.(?:completed|incomplete|failed))\n|"done":true|^\{"error"/gm,
          );
          assert.equal(ends?.length, 1);
        },
      ),
      { numRuns: 300 },
    );
  }
});

Deno.test("SSE-11 a client that leaves a translated stream cancels the engine's", async () => {
  const requests: Readonly<Record<string, object>> = {
    "/v1/messages": { messages: [{ role: "user", content: "a" }] },
    "/v1/responses": { input: "a" },
    "/api/chat": { messages: [{ role: "user", content: "a" }] },
  };
  for (const [path, body] of Object.entries(requests)) {
    const { api, router } = apiUnderTest();
    const left = Promise.withResolvers<void>();
    router.answer = () => ({
      contentType: "text/event-stream",
      body: new ReadableStream({
        pull: (controller) =>
          controller.enqueue(new TextEncoder().encode(chunk({ content: "a" }))),
        cancel: () => left.resolve(),
      }),
    });
    const response = await api.handle(
      post(path, { model: "m", stream: true, ...body }),
      LOOPBACK,
    );
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await left.promise;
  }
});
