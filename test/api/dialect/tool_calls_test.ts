import { parseExactJson } from "../../../src/domain/mod.ts";
import assert from "node:assert/strict";
import fc from "fast-check";
import { seatToolCalls } from "../../../src/api/openai/seat_tool_calls.ts";
import { apiUnderTest, CHAT, LOOPBACK, post } from "../api_under_test.ts";
import {
  CALLS,
  cuts,
  eventsOf,
  oneByOne,
  through,
  unnumbered,
  WIDE,
} from "./streams.ts";

const asOne = (text: string) => [new TextEncoder().encode(text)];

Deno.test("SSE-09 a stream whose calls are well numbered passes byte for byte", async () => {
  for (const source of [WIDE, CALLS, CALLS.replaceAll("\n", "\r\n")]) {
    assert.equal(await through(oneByOne(source), seatToolCalls("s")), source);
  }
});

Deno.test("SSE-09 calls without their own index get one, for any cut", async () => {
  for (const index of [0, undefined]) {
    for (const ids of [true, false]) {
      const source = unnumbered(index, ids);
      const whole = await through(asOne(source), seatToolCalls("s"));
      const calls = eventsOf(whole)
        .flatMap((event) => event.choices[0].delta.tool_calls ?? []);
      assert.deepEqual(
        calls.map((call) => [call.index, call.function]),
        [
          [0, { name: "f", arguments: '{"x":1}' }],
          [1, { name: "g", arguments: '{"y":2}' }],
        ],
      );
      assert.equal(new Set(calls.map(({ id }) => id)).size, 2);
      await fc.assert(
        fc.asyncProperty(cuts(source), async (pieces) => {
          assert.equal(await through(pieces, seatToolCalls("s")), whole);
        }),
        { numRuns: 30 },
      );
    }
  }
});

Deno.test("SSE-09 OpenAI's own route seats calls where tools were given", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({
    contentType: "text/event-stream",
    body: unnumbered(undefined, false),
  });
  const response = await api.handle(
    post("/v1/chat/completions", {
      ...CHAT,
      stream: true,
      tools: [{ type: "function", function: { name: "f" } }],
    }),
    LOOPBACK,
  );
  const calls = eventsOf(await response.text())
    .flatMap((event) => event.choices[0].delta.tool_calls ?? []);
  assert.deepEqual(calls.map((call) => call.index), [0, 1]);
});

Deno.test("parseExactJson writes back every number as it came", () => {
  for (
    const text of [
      "[12345678901234567890,-12345678901234567890,9007199254740993]",
      "[1e400,1,0.5,-0.1,9007199254740991]",
      '{"a":{"b":[12345678901234567890]},"c":"12345678901234567890"}',
    ]
  ) assert.equal(JSON.stringify(parseExactJson(text)), text);
  fc.assert(fc.property(fc.json(), (text) => {
    const value = JSON.parse(text);
    assert.equal(JSON.stringify(parseExactJson(text)), JSON.stringify(value));
  }));
});

Deno.test("numbers beyond 2^53 reach engines as they came, and are no options", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: '{"choices":[]}' });
  const big = "12345678901234567890";
  const path = "/v1/chat/completions";
  const messages = JSON.stringify(CHAT.messages);
  await api.handle(
    post(path, `{"model":"m","messages":${messages},"odd":${big}}`),
    LOOPBACK,
  );
  assert.match(
    JSON.stringify(router.requests[0]?.body),
    new RegExp(`"odd":${big}`),
  );
  const refused = await api.handle(
    post(path, `{"model":"m","messages":${messages},"seed":${big}}`),
    LOOPBACK,
  );
  assert.equal(refused.status, 400);
});
