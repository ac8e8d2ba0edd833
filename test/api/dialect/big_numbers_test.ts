import assert from "node:assert/strict";
import fc from "fast-check";
import { apiUnderTest, LOOPBACK, post } from "../api_under_test.ts";
import { chunk, DONE, USAGE } from "./streams.ts";

/** Whole numbers that no double holds, as text. */
const BIG = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n })
  .map((one) => one < 0n ? one - 2n ** 53n - 1n : one + 2n ** 53n + 1n)
  .map(String)
  .filter((text) => BigInt(Number(text)) !== BigInt(text));

const tool = (big: string) =>
  `{"name":"f","parameters":{"type":"object","properties":{"id":{"const":${big}}}}}`;

/** A conversation with a call in its past, in each dialect; what is written by hand keeps its numbers. */
const DIALECTS: readonly {
  readonly path: string;
  readonly body: (big: string, stream: boolean) => string;
}[] = [
  {
    path: "/v1/chat/completions",
    body: (big, stream) =>
      `{"model":"m","stream":${stream},"unheard_of":${big},"tools":[{"type":"function","function":${
        tool(big)
      }}],"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":{"id":${big}}}}]},{"role":"tool","tool_call_id":"c","content":"b"}]}`,
  },
  {
    path: "/v1/responses",
    body: (big, stream) =>
      `{"model":"m","stream":${stream},"tools":[{"type":"function",${
        tool(big).slice(1)
      }],"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":"{\\"id\\":${big}}"},{"type":"function_call_output","call_id":"c","output":"b"}]}`,
  },
  {
    path: "/v1/messages",
    body: (big, stream) =>
      `{"model":"m","max_tokens":9,"stream":${stream},"tools":[{"name":"f","input_schema":{"type":"object","properties":{"id":{"const":${big}}}}}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"id":${big}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"b"}]}]}`,
  },
  {
    path: "/api/chat",
    body: (big, stream) =>
      `{"model":"m","stream":${stream},"tools":[{"type":"function","function":${
        tool(big)
      }}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"id":${big}}}}]},{"role":"tool","content":"b"}]}`,
  },
];

function answerOf(big: string, stream: boolean): {
  contentType: string;
  body: string;
} {
  const call = {
    index: 0,
    id: "c1",
    type: "function",
    function: { name: "f", arguments: `{"id":${big}}` },
  };
  return stream
    ? {
      contentType: "text/event-stream",
      body: chunk({ role: "assistant", tool_calls: [call] }) +
        chunk({}, "tool_calls") + USAGE + DONE,
    }
    : {
      contentType: "application/json",
      body: JSON.stringify({
        choices: [{
          index: 0,
          message: { role: "assistant", content: null, tool_calls: [call] },
          finish_reason: "tool_calls",
        }],
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      }),
    };
}

for (const { path, body } of DIALECTS) {
  Deno.test(`numbers beyond 2^53 survive ${path}, on the way in and out`, async () => {
    const { api, router } = apiUnderTest();
    await fc.assert(
      fc.asyncProperty(BIG, fc.boolean(), async (big, stream) => {
        router.answer = () => answerOf(big, stream);
        const response = await api.handle(
          post(path, body(big, stream)),
          LOOPBACK,
        );
        const told = await response.text();
        assert.equal(response.status, 200, told);
        const asked = JSON.stringify(router.requests.pop()?.body);
        // In the schema of a tool, and as text in the call of the past.
        assert(asked.includes(`"const":${big}}`), asked);
        assert(asked.includes(`{\\"id\\":${big}}`), asked);
        // In the call of the answer, as text or as a value.
        assert(
          told.includes(`\\"id\\":${big}}`) || told.includes(`"id":${big}}`),
          told,
        );
      }),
      { numRuns: 40 },
    );
  });
}
