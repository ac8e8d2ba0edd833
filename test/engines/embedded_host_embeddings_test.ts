import assert from "node:assert/strict";
import { hostOfFile } from "./embedded_host_driver.ts";

const host = hostOfFile("embedding");
const PATH = "/v1/embeddings";

function cosine(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

Deno.test("engine host embeds alike as numbers and as base64, at length 1", async () => {
  const input = ["The fox sees the moon.", "One king paints a cake."];
  const floats = await host.json(PATH, { input, model: "asked-name" });
  const packed = await host.json(PATH, { input, encoding_format: "base64" });
  assert.equal(floats.model, "asked-name");
  assert.equal(floats.data.length, 2);
  for (const [at, one] of floats.data.entries()) {
    assert.equal(one.index, at);
    assert.equal(one.embedding.length, 64);
    assert.ok(Math.abs(Math.hypot(...one.embedding) - 1) < 1e-6);
    const bytes = Uint8Array.fromBase64(packed.data[at].embedding);
    assert.deepEqual(Array.from(new Float32Array(bytes.buffer)), one.embedding);
  }
  assert.deepEqual(floats.usage, packed.usage);
  assert.equal(floats.usage.prompt_tokens, floats.usage.total_tokens);
  assert.equal(floats.timings.prompt_n, floats.usage.prompt_tokens);
});

Deno.test("engine host embeds texts that share words nearer to each other", async () => {
  const { data } = await host.json(PATH, {
    input: [
      "The fox sees the moon.",
      "The fox sees the sun.",
      "calm red wolf paints cake",
    ],
  });
  const [first, near, far] = data.map(
    (one: { embedding: number[] }) => one.embedding,
  );
  assert.ok(cosine(first, near) > cosine(first, far));
});

Deno.test("engine host embeds tokens as the text they come from", async () => {
  const { tokens } = await host.json("/tokenize", { content: "The fox" });
  const fromText = await host.json(PATH, { input: "The fox" });
  for (const input of [tokens, [tokens]]) {
    const fromTokens = await host.json(PATH, { input });
    assert.deepEqual(fromTokens.data, fromText.data);
    assert.deepEqual(fromTokens.usage, fromText.usage);
  }
});

Deno.test("engine host refuses inputs that it can not embed, by name", async () => {
  const table: readonly (readonly [Record<string, unknown>, string | null])[] =
    [
      [{}, "input"],
      [{ input: "" }, "input"],
      [{ input: [] }, "input"],
      [{ input: ["a", ""] }, "input.1"],
      [{ input: [[]] }, "input"],
      [{ input: [["a"]] }, "input"],
      [{ input: [99999] }, "input"],
      [{ input: "a", encoding_format: "hex" }, "encoding_format"],
      [{ input: "a", dimensions: 12 }, "dimensions"],
      [{ input: ["a", "q".repeat(3000)] }, null],
    ];
  for (const [body, param] of table) {
    const response = await host.ask(PATH, body);
    assert.equal(response.status, 400, JSON.stringify(body).slice(0, 80));
    const { error } = await response.json();
    assert.equal(error.param, param);
  }
  const chat = await host.ask("/v1/chat/completions", { messages: [] });
  assert.equal(chat.status, 501);
  assert.equal((await chat.json()).error.type, "not_supported_error");
});

Deno.test("engine host leaves the rest of a batch when the client leaves", async () => {
  const leaving = new AbortController();
  const text = "The fox sees the moon near a pond. ".repeat(40);
  const answer = host.ask(PATH, { input: Array(2000).fill(text) }, {
    signal: leaving.signal,
  });
  const gone = assert.rejects(answer);
  while (!(await host.json("/slots"))[0].is_processing);
  leaving.abort();
  await gone;
  // Were the batch worked off, this would wait behind it for a minute.
  while ((await host.json("/slots"))[0].is_processing);
  assert.equal((await host.json(PATH, { input: "a" })).data.length, 1);
});
