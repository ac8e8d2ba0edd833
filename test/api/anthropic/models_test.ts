import assert from "node:assert/strict";
import { apiUnderTest, get, LOOPBACK, SELF } from "../api_under_test.ts";

const HEADERS = { "anthropic-version": "2023-06-01" };

Deno.test("Anthropic's clients get models and errors in their own shape", async () => {
  const { api, router } = apiUnderTest();
  router.listings = ["a/b", "c:latest"].map((model) => ({
    model,
    capabilities: ["chat"],
    contextLength: 4096,
    nodes: [SELF],
    warm: false,
  }));
  const ask = (path: string, headers = HEADERS) =>
    api.handle(get(path, { headers }), LOOPBACK);
  const page = await (await ask("/v1/models?limit=20")).json();
  const { data, ...ends } = page;
  assert.deepEqual(ends, {
    has_more: false,
    first_id: "a/b",
    last_id: "c:latest",
  });
  const [first] = data;
  assert.deepEqual({ ...first, created_at: "" }, {
    type: "model",
    id: "a/b",
    display_name: "a/b",
    created_at: "",
    max_input_tokens: 4096,
    max_tokens: 4096,
  });
  assert.deepEqual(await (await ask("/v1/models/a%2Fb")).json(), first);
  for (const path of ["/v1/models/no", "/cluster/v1/models/no"]) {
    const lost = await ask(path);
    assert.equal(lost.status, 404);
    const { type, error } = await lost.json();
    assert.equal(type, "error");
    assert.equal(error.type, "not_found_error");
  }
});
