import assert from "node:assert/strict";
import { openApiDocument } from "../../src/api/openapi/document.ts";
import { openApiPage } from "../../src/api/openapi/page.ts";
import { OPERATION_NOTES } from "../../src/api/openapi/operations.ts";
import { createSeededEntropy, MemoryFiles } from "../../src/platform/mod.ts";
import { loadClientKeys } from "../../src/store/client_keys.ts";
import { apiUnderTest, get, LOOPBACK } from "./api_under_test.ts";

/** Routes exist where there is something behind them; describing them asks it nothing. */
const THERE = {} as never;
const { api } = apiUnderTest({
  clientKeys: await loadClientKeys({
    files: new MemoryFiles({ "/data/x": "" }),
    entropy: createSeededEntropy(3),
    nowMs: () => 5,
    dataDir: "/data",
  }),
  conversions: THERE,
  describeActions: () =>
    Promise.resolve(
      Object.fromEntries(
        ["copy", "door", "invite", "join", "leave"].map((action) => [action, {
          type: "object",
          title: action,
        }]),
      ),
    ),
  imports: THERE,
  models: THERE,
  forecasts: THERE,
  packs: THERE,
  pulls: THERE,
});

Deno.test("GET /openapi.json describes every built route, bodies by their parsers' schemas", async () => {
  const response = await api.handle(get("/openapi.json"), LOOPBACK);
  const { openapi, paths } = await response.json();
  assert.match(openapi, /^3\.1\./);
  for (const [key, note] of Object.entries(OPERATION_NOTES)) {
    const [method = "", pattern = ""] = key.split(" ");
    const operation = paths[pattern.replace("…", "")]?.[method.toLowerCase()];
    assert.equal(operation?.summary, note.summary, `${key} is no route`);
  }
  const chat = paths["/v1/chat/completions"].post.requestBody.content[
    "application/json"
  ].schema;
  const named = chat.allOf.find((
    part: { required?: string[] },
  ) => part.required?.includes("model"));
  assert.deepEqual(named.properties.model.type, "string");
  assert.equal(paths["/api/pull"]?.get, undefined);
  const ids = Object.values(paths).flatMap((item) =>
    Object.values(item as Record<string, { operationId: string }>)
      .map(({ operationId }) => operationId)
  );
  assert.equal(new Set(ids).size, ids.length);
});

Deno.test("GET /openapi.json says of every route what it is for, and what a body has to hold", async () => {
  const response = await api.handle(get("/openapi.json"), LOOPBACK);
  const { paths } = await response.json();
  for (const [path, item] of Object.entries<Record<string, Operation>>(paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const route = `${method.toUpperCase()} ${path}`;
      assert.notEqual(operation.summary, route);
      const content = Object.values(operation.requestBody?.content ?? {});
      for (const { schema } of content) {
        const isBare = JSON.stringify(schema) === '{"type":"object"}';
        assert.ok(!isBare || BODILESS.test(route), route);
      }
    }
  }
});

/** Routes that are asked to do something by their path alone. */
const BODILESS = /\/(?:drain|undrain|refresh|pause|resume)$/;

Deno.test("GET /openapi.json says of an operator's body what its reader takes", async () => {
  const response = await api.handle(get("/openapi.json"), LOOPBACK);
  const { paths } = await response.json();
  const schemaOf = (path: string) =>
    paths[path].post.requestBody.content["application/json"].schema;
  assert.deepEqual(schemaOf("/covey/keys").required, ["name"]);
  const most = schemaOf("/covey/pulls").properties.max_bytes_per_second;
  assert.equal(most.minimum, 1_024);
  const [folder, found] = schemaOf("/covey/imports").anyOf;
  assert.deepEqual(folder.required, ["folder"]);
  assert.equal(found.properties.found.const, true);
  assert.equal(schemaOf("/cluster/join").title, "join");
  const embed = JSON.stringify(schemaOf("/api/embed"));
  for (const field of ["input", "dimensions", "keep_alive", "num_ctx"]) {
    assert.ok(embed.includes(`"${field}"`), field);
  }
});

Deno.test("GET /openapi.json of a build without cluster code knows no bodies of its actions", async () => {
  const { api } = apiUnderTest();
  const response = await api.handle(get("/openapi.json"), LOOPBACK);
  const { paths } = await response.json();
  assert.deepEqual(paths["/cluster/join"].post.requestBody, {
    required: false,
    content: { "application/json": { schema: { type: "object" } } },
  });
});

interface Operation {
  readonly summary: string;
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: unknown }>>;
  };
}

Deno.test("GET /openapi shows the description without a script", async () => {
  const response = await api.handle(get("/openapi"), LOOPBACK);
  assert.match(response.headers.get("content-type") ?? "", /text\/html/);
  const page = await response.text();
  assert.match(page, /POST \/v1\/messages/);
  assert.doesNotMatch(page, /<script|https?:\/\//);
});

Deno.test("openApiPage writes what a route is called as text", () => {
  const page = openApiPage(openApiDocument([{
    method: "GET",
    pattern: "/<b>",
    target: { scope: "read" },
  }]));
  assert.match(page, /&lt;b&gt;/);
  assert.doesNotMatch(page, /<b>/);
});
