import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject } from "../../src/domain/mod.ts";
import { checkEmbeddings } from "../../src/api/openai/embedding_answer.ts";
import { apiUnderTest, errorOf, LOOPBACK, post } from "./api_under_test.ts";

const PATH = "/v1/embeddings";

function base64(numbers: readonly number[]): string {
  return new Uint8Array(new Float32Array(numbers).buffer).toBase64();
}

function answerOf(embeddings: readonly unknown[]): string {
  return JSON.stringify({
    object: "list",
    model: "m",
    data: embeddings.map((embedding, index) => ({
      object: "embedding",
      index,
      embedding,
    })),
    usage: { prompt_tokens: 2, total_tokens: 2 },
  });
}

Deno.test("EMB-03 embeddings of nothing, of too much or in an unknown format are refused", async () => {
  const { api, router } = apiUnderTest();
  const table: readonly [Record<string, unknown>, string][] = [
    [{}, "input"],
    [{ input: "" }, "input"],
    [{ input: [] }, "input"],
    [{ input: ["a", ""] }, "input[1]"],
    [{ input: ["a", 1] }, "input"],
    [{ input: [[1], []] }, "input[1]"],
    [{ input: new Array(2049).fill("x") }, "input"],
    [{ input: "a", encoding_format: "hex" }, "encoding_format"],
    [{ input: "a", dimensions: 0 }, "dimensions"],
  ];
  for (const [fields, param] of table) {
    const response = await api.handle(
      post(PATH, { model: "m", ...fields }),
      LOOPBACK,
    );
    assert.equal(response.status, 400, JSON.stringify(fields).slice(0, 80));
    assert.equal((await errorOf(response)).param, param);
  }
  assert.equal(router.requests.length, 0);
});

Deno.test("EMB-01 embeddings come in the format asked for, whichever the engine speaks", async () => {
  const { api, router } = apiUnderTest();
  const vectors = [[0.25, -1.5, 3], [1, 2, 4]];
  const engines = [answerOf(vectors), answerOf(vectors.map(base64))];
  for (const body of engines) {
    router.answer = () => ({ body });
    for (const encoding_format of ["float", "base64", undefined, null]) {
      const response = await api.handle(
        post(PATH, { model: "m", input: ["a", "b"], encoding_format }),
        LOOPBACK,
      );
      assert.equal(response.status, 200);
      const { data } = await response.json();
      assert.deepEqual(
        data.map((one: { embedding: unknown }) => one.embedding),
        encoding_format === "base64" ? vectors.map(base64) : vectors,
      );
      const sent = router.requests.at(-1);
      assert.equal(sent?.body.encoding_format, encoding_format ?? "float");
      assert.equal(sent?.inputCount, 2);
    }
  }
});

Deno.test("EMB-03 answers with missing, empty, doubled or uneven vectors are a 502", async () => {
  const { api, router } = apiUnderTest();
  const item = (index: number, embedding: unknown) => ({ index, embedding });
  const table: readonly [unknown, RegExp][] = [
    ["<html>", /no JSON/],
    [[], /no JSON object/],
    [{}, /no list of vectors/],
    [{ data: [item(0, [1])] }, /1 vectors for 2 inputs/],
    [{ data: [item(0, [1]), item(1, [])] }, /empty vector/],
    [{ data: [item(0, [1]), item(1, "")] }, /float32/],
    [{ data: [item(0, [1]), item(1, "AAAA")] }, /float32/],
    [{ data: [item(0, [1]), item(1, "%%%")] }, /no base64/],
    [{ data: [item(0, [1]), item(1, base64([NaN]))] }, /not finite/],
    [{ data: [item(0, [1]), item(1, [null])] }, /gap/],
    [{ data: [item(0, [1]), item(1, [1, 2])] }, /2 numbers instead of 1/],
    [{ data: [item(0, [1]), item(0, [1])] }, /given twice/],
    [{ data: [item(0, [1]), item(2, [1])] }, /out of range/],
    [{ data: [item(0, [1]), null] }, /no object/],
    [{ data: [item(0, [1]), { index: 1 }] }, /no vector/],
  ];
  for (const [answer, message] of table) {
    router.answer = () => ({
      body: typeof answer === "string" ? answer : JSON.stringify(answer),
    });
    const response = await api.handle(
      post(PATH, { model: "m", input: ["a", "b"] }),
      LOOPBACK,
    );
    assert.equal(response.status, 502, JSON.stringify(answer));
    const error = await errorOf(response);
    assert.match(error.message, message);
    assert.equal(error.origin, "engine");
  }
  router.answer = () => ({ body: answerOf([[1, 2], [3, 4]]) });
  const response = await api.handle(
    post(PATH, { model: "m", input: ["a", "b"], dimensions: 1 }),
    LOOPBACK,
  );
  assert.equal(response.status, 502);
  assert.match((await errorOf(response)).message, /2 numbers instead of 1/);
});

Deno.test("EMB-03 checkEmbeddings restores the order and keeps every float32", () => {
  const vectors = fc.integer({ min: 1, max: 8 }).chain((width) =>
    fc.array(
      fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), {
        minLength: width,
        maxLength: width,
      }),
      { minLength: 1, maxLength: 6 },
    )
  );
  fc.assert(fc.property(vectors, fc.boolean(), fc.nat(), (all, text, turn) => {
    const items = all.map((numbers, index) => ({
      index,
      embedding: text ? base64(numbers) : numbers,
    }));
    const shift = turn % items.length;
    const data = [...items.slice(shift), ...items.slice(0, shift)];
    const answer: JsonObject = { object: "list", data };
    const expected = { count: all.length, dimensions: null };
    const floats = checkEmbeddings(answer, { ...expected, format: "float" });
    assert.deepEqual(
      floats.data,
      all.map((embedding, index) => ({ index, embedding })),
    );
    const bytes = checkEmbeddings(floats, { ...expected, format: "base64" });
    assert.deepEqual(
      bytes.data,
      all.map((numbers, index) => ({ index, embedding: base64(numbers) })),
    );
  }));
});
