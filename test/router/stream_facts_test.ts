import assert from "node:assert/strict";
import { readStreamEvent } from "../../src/router/stream_facts.ts";
import { event, finish, ROLE, text } from "../fakes/scripted_engine.ts";

function read(raw: string) {
  return readStreamEvent(new TextEncoder().encode(raw));
}

Deno.test("readStreamEvent tells events apart", () => {
  const table: readonly (readonly [string, string])[] = [
    [": OPENROUTER PROCESSING\n\n", "comment"],
    [":\n\n", "comment"],
    ["\n", "comment"],
    ["event: ping\n\n", "comment"],
    ["data: [DONE]\n\n", "done"],
    ["data:[DONE]\r\n\r\n", "done"],
    ["data: : not json\n\n", "unreadable"],
    ["data: 1\n\n", "unreadable"],
    ["data\n\n", "unreadable"],
    ['data: {"error":{"message":"no"}}\n\n', "error"],
    ['data: {"error":"no"}\n\n', "error"],
    ['event: error\ndata: {"x":1}\n\n', "error"],
    ['data: {"error":null,"choices":[]}\n\n', "chunk"],
    ['data: {"choices":\ndata: []}\n\n', "chunk"],
  ];
  for (const [raw, kind] of table) assert.equal(read(raw).kind, kind, raw);
});

Deno.test("readStreamEvent counts text, reasoning and tool calls as content, roles and finishes not", () => {
  const table: readonly (readonly [string, boolean])[] = [
    [ROLE, false],
    [text("x"), true],
    [finish(), false],
    [event({ choices: [{ delta: { reasoning_content: "hm" } }] }), true],
    [event({ choices: [{ delta: { tool_calls: [{ index: 0 }] } }] }), true],
    [event({ choices: [{ delta: { tool_calls: [] } }] }), false],
    [event({ choices: [{ text: "x" }] }), true],
    [event({ choices: [{ text: "" }] }), false],
    [event({ choices: [null, 3, { delta: "x" }] }), false],
    [event({ choices: {} }), false],
  ];
  for (const [raw, hasContent] of table) {
    const found = read(raw);
    assert(found.kind === "chunk", raw);
    assert.equal(found.facts.hasContent, hasContent, raw);
  }
});

Deno.test("readStreamEvent reads usage, timings and finish, and takes other forms for absent", () => {
  const found = read(event({
    choices: [{ delta: {}, finish_reason: "length" }],
    usage: { prompt_tokens: 7, completion_tokens: 3 },
    timings: {
      prompt_n: 5,
      cache_n: 2,
      prompt_ms: 10,
      predicted_n: 3,
      predicted_ms: 30,
    },
  }));
  assert(found.kind === "chunk");
  assert.equal(found.facts.finish, "length");
  assert.deepEqual(found.facts.usage, { promptTokens: 7, outputTokens: 3 });
  assert.equal(found.facts.timings?.cachedTokens, 2);
  const odd = read(event({ usage: "x", timings: { prompt_ms: -1 } }));
  assert(odd.kind === "chunk");
  assert.equal(odd.facts.usage, null);
  assert.equal(odd.facts.timings, null);
  assert.equal(odd.facts.hasChoices, false);
});
