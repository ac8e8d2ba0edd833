import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/mod.ts";
import { apiUnderTest, errorOf, LOOPBACK, post } from "./api_under_test.ts";

const PATH = "/v1/rerank";
const ASK = { model: "r", query: "red fox", documents: ["a", { text: "b" }] };

function ranking(...scores: readonly number[]): JsonObject {
  return {
    id: "rank-1",
    model: "served/r",
    results: scores.map((relevance_score, index) => ({
      index,
      relevance_score,
    })),
    usage: { prompt_tokens: 9, total_tokens: 9 },
  };
}

async function ask(body: object, answer: object) {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: JSON.stringify(answer) });
  const response = await api.handle(post(PATH, body), LOOPBACK);
  return { response, router };
}

Deno.test("rerank asks an engine for all scores of plain texts, whatever the caller wants of them", async () => {
  const { response, router } = await ask({
    ...ASK,
    top_n: 1,
    return_documents: true,
    truncate_prompt_tokens: 100,
    source: "local",
  }, ranking(0.25, 0.75));
  assert.equal(response.status, 200);
  const [asked] = router.requests;
  assert.equal(asked?.capability, "rerank");
  assert.equal(asked?.inputCount, 2);
  assert.deepEqual(asked?.source, { kind: "local" });
  assert.deepEqual(asked?.body, {
    model: "r",
    query: "red fox",
    documents: ["a", "b"],
    truncate_prompt_tokens: 100,
  });
  assert.deepEqual(await response.json(), {
    object: "list",
    id: "rank-1",
    model: "r",
    results: [{ index: 1, document: { text: "b" }, relevance_score: 0.75 }],
    usage: { prompt_tokens: 9, total_tokens: 9 },
  });
});

Deno.test("rerank gives the nearest first, equals in their order, documents unless told not to", async () => {
  const documents = ["a", "b", "c", "d"];
  const { response } = await ask(
    { ...ASK, documents, return_documents: false, top_n: 9 },
    ranking(-2.5, 0.5, 0.5, 11),
  );
  const { results } = await response.json();
  assert.deepEqual(results, [
    { index: 3, relevance_score: 11 },
    { index: 1, relevance_score: 0.5 },
    { index: 2, relevance_score: 0.5 },
    { index: 0, relevance_score: -2.5 },
  ]);
});

Deno.test("rerank refuses what is no query or no documents, by name", async () => {
  const { api, router } = apiUnderTest();
  const table: readonly [object, string][] = [
    [{ query: undefined }, "query"],
    [{ query: "" }, "query"],
    [{ documents: [] }, "documents"],
    [{ documents: "a" }, "documents"],
    [{ documents: ["a", ""] }, "documents[1]"],
    [{ documents: [7] }, "documents[0]"],
    [{ documents: Array(2_049).fill("a") }, "documents"],
    [{ top_n: 0 }, "top_n"],
    [{ return_documents: 1 }, "return_documents"],
    [{ model: undefined }, "model"],
  ];
  for (const [change, param] of table) {
    const response = await api.handle(
      post(PATH, { ...ASK, ...change }),
      LOOPBACK,
    );
    assert.equal(response.status, 400);
    assert.equal((await errorOf(response)).param, param);
  }
  assert.equal(router.requests.length, 0);
});

Deno.test("a ranking that misses a document, or has no score, is a 502", async () => {
  const wrong: readonly object[] = [
    {},
    ranking(1),
    ranking(1, 2, 3),
    {
      results: [{ index: 0, relevance_score: 1 }, {
        index: 0,
        relevance_score: 1,
      }],
    },
    {
      results: [{ index: 0, relevance_score: 1 }, {
        index: 2,
        relevance_score: 1,
      }],
    },
    {
      results: [{ index: 0, relevance_score: 1 }, {
        index: 1,
        relevance_score: null,
      }],
    },
    { results: [1, 2] },
  ];
  for (const answer of wrong) {
    const { response } = await ask(ASK, answer);
    assert.equal(response.status, 502);
    assert.match((await errorOf(response)).message, /ranking can not be used/);
  }
});
