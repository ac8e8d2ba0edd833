import assert from "node:assert/strict";
import { routeHint } from "../../src/api/route_hint.ts";
import {
  apiUnderTest,
  errorOf,
  get,
  LOOPBACK,
  post,
} from "./api_under_test.ts";

const ROUTES = [
  "/",
  "/v1/chat/completions",
  "/v1/messages",
  "/v1/models",
  "/v1/models/{id…}",
  "/api/chat",
  "/healthz",
];

Deno.test("routeHint sees a prefix too many or too few before it looks for misspelt words", () => {
  const table: readonly (readonly [string, string | null])[] = [
    ["/chat/completions", "/v1/chat/completions"],
    ["/v1/v1/chat/completions", "/v1/chat/completions"],
    ["/openai/v1/chat/completions", "/v1/chat/completions"],
    ["/openai/chat/completions", "/v1/chat/completions"],
    ["//v1//messages", "/v1/messages"],
    ["/v1/api/chat", "/api/chat"],
    ["/v1/mesages", "/v1/messages"],
    ["/v1/chat/completion", "/v1/chat/completions"],
    ["/health", "/healthz"],
    ["/v1/nonsense/at/all", null],
    ["/x", null],
    ["/v1", null],
    [`/${"a/".repeat(100)}`, null],
  ];
  for (const [path, meant] of table) {
    assert.equal(
      routeHint(path, ROUTES),
      meant === null
        ? "; GET /openapi.json lists those there are"
        : `; did you mean ${meant}?`,
      path,
    );
  }
});

Deno.test("a path that is no route is told the nearest one, in its dialect", async () => {
  const { api } = apiUnderTest();
  const wrong = await api.handle(post("/v1/mesages", {}), LOOPBACK);
  assert.equal(wrong.status, 404);
  assert.equal(
    (await errorOf(wrong)).message,
    "There is no route POST /v1/mesages; did you mean /v1/messages?",
  );
  const ollama = await api.handle(get("/api/tag"), LOOPBACK);
  assert.deepEqual(await ollama.json(), {
    error: "There is no route GET /api/tag; did you mean /api/tags?",
  });
});
