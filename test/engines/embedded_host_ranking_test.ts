import assert from "node:assert/strict";
import { hostOfFile } from "./embedded_host_driver.ts";

const host = hostOfFile("rerank");
const PATH = "/v1/rerank";

const QUERY = "Which fox sees the moon?";
const DOCUMENTS = [
  "One king paints a cake.",
  "The fox sees the moon.",
  "calm red wolf",
  "The fox",
];

interface Result {
  readonly index: number;
  readonly relevance_score: number;
}

Deno.test("engine host ranks documents by a probability, the best first", async () => {
  const answer = await host.json(PATH, {
    model: "asked-name",
    query: QUERY,
    documents: DOCUMENTS,
  });
  assert.equal(answer.model, "asked-name");
  const results: readonly Result[] = answer.results;
  assert.deepEqual(
    results.map(({ index }) => index).toSorted(),
    [0, 1, 2, 3],
  );
  const scores = results.map((one) => one.relevance_score);
  assert.deepEqual(scores, scores.toSorted((a, b) => b - a));
  assert.ok(scores.every((one) => one > 0 && one < 1), `${scores}`);
  assert.equal(new Set(scores).size, 4, "each document has its own score");
  assert.equal(answer.usage.prompt_tokens, answer.usage.total_tokens);
  assert.ok(answer.usage.prompt_tokens > 40);
  assert.equal(answer.timings.prompt_n, answer.usage.prompt_tokens);
});

Deno.test("engine host scores a document alike in any company, so that documents can be divided", async () => {
  const ask = async (documents: readonly string[]) => {
    const { results, usage } = await host.json(PATH, {
      query: QUERY,
      documents,
    });
    const scores: number[] = [];
    for (const { index, relevance_score } of results) {
      scores[index] = relevance_score;
    }
    return { scores, tokens: usage.prompt_tokens };
  };
  const all = await ask(DOCUMENTS);
  const head = await ask(DOCUMENTS.slice(0, 3));
  const tail = await ask(DOCUMENTS.slice(3));
  assert.deepEqual([...head.scores, ...tail.scores], all.scores);
  assert.equal(head.tokens + tail.tokens, all.tokens);
});

Deno.test("engine host refuses what it can not rank, by name, and does nothing but rank", async () => {
  const table: readonly (readonly [Record<string, unknown>, string | null])[] =
    [
      [{ documents: ["a"] }, "query"],
      [{ query: "", documents: ["a"] }, "query"],
      [{ query: "a" }, "documents"],
      [{ query: "a", documents: [] }, "documents"],
      [{ query: "a", documents: ["a", ""] }, "documents.1"],
      [{ query: "a", documents: ["q".repeat(3000)] }, null],
    ];
  for (const [body, param] of table) {
    const response = await host.ask(PATH, body);
    assert.equal(response.status, 400, JSON.stringify(body).slice(0, 80));
    assert.equal((await response.json()).error.param, param);
  }
  for (const path of ["/v1/chat/completions", "/v1/embeddings"]) {
    const response = await host.ask(path, { messages: [], input: "a" });
    assert.equal(response.status, 501);
    assert.match((await response.json()).error.message, /started to rank/);
  }
  assert.equal((await host.json("/props")).mode, "rerank");
});
