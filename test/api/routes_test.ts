import assert from "node:assert/strict";
import {
  type DecisionId,
  type DecisionRecord,
  Fault,
} from "../../src/domain/mod.ts";
import { cutSourcePrefix } from "../../src/api/request_source.ts";
import { RouteTable } from "../../src/api/route_table.ts";
import {
  apiUnderTest,
  CHAT,
  errorOf,
  get,
  LOOPBACK,
  PEER,
  post,
  SELF,
} from "./api_under_test.ts";

const IDS = [
  "hf.co/org/repo-GGUF:Q4_K_M",
  "vendor/model:free",
  "/models/Qwen3",
  "a b",
  "cluster/v1/x",
  "node/n/v1/x",
  "100%",
];

Deno.test("MOD-04 every listed model can be retrieved, raw and percent-encoded", async () => {
  const { api, router } = apiUnderTest();
  router.listings = IDS.map((model) => ({
    model,
    capabilities: ["chat"],
    contextLength: 4096,
    nodes: [SELF],
    warm: false,
  }));
  const list = await (await api.handle(get("/v1/models"), LOOPBACK)).json();
  assert.equal(list.object, "list");
  assert.deepEqual(list.data.map((one: { id: string }) => one.id), IDS);
  for (const id of IDS) {
    const raw = encodeURI(id);
    for (const path of [raw, encodeURIComponent(id), `${raw}/`]) {
      for (const prefix of ["", "/cluster", `/node/${SELF}`]) {
        const response = await api.handle(
          get(`${prefix}/v1/models/${path}`),
          LOOPBACK,
        );
        assert.equal(response.status, 200, `${prefix} ${path}`);
        const model = await response.json();
        assert.equal(model.id, id);
        assert.equal(model.object, "model");
        assert.equal(typeof model.created, "number");
      }
    }
  }
  const tagged = await api.handle(
    get(`/v1/models/${encodeURIComponent("a b:latest")}`),
    LOOPBACK,
  );
  assert.equal((await tagged.json()).id, "a b");
  const unknown = await errorOf(
    await api.handle(get("/v1/models/no/such"), LOOPBACK),
  );
  assert.equal(unknown.code, "model_not_found");
  assert.match(unknown.message, /"no\/such"/);
  const noRoute = await errorOf(await api.handle(get("/v1/model"), LOOPBACK));
  assert.equal(noRoute.code, "route_not_found");
});

Deno.test("GET /v1/models under a source lists what that source reaches", async () => {
  const { api, router } = apiUnderTest();
  router.listings = [SELF, PEER].map((node) => ({
    model: `on ${node}`,
    capabilities: ["chat"],
    contextLength: 1,
    nodes: [node],
    warm: true,
  }));
  const ids = async (path: string, source?: string) => {
    const headers = source === undefined ? {} : { "x-covey-source": source };
    const response = await api.handle(get(path, { headers }), LOOPBACK);
    const { data } = await response.json();
    return data.map((one: { id: string }) => one.id);
  };
  assert.equal((await ids("/cluster/v1/models")).length, 2);
  assert.deepEqual(await ids("/v1/models", "local"), [`on ${SELF}`]);
  assert.deepEqual(await ids("/node/ben/v1/models"), [`on ${PEER}`]);
  const nobody = await api.handle(get("/node/carl/v1/models"), LOOPBACK);
  assert.equal(nobody.status, 404);
  assert.match((await errorOf(nobody)).message, /No member is called "carl"/);
});

Deno.test("cutSourcePrefix cuts once, and only before an inference path", () => {
  const table: readonly [string, string, string][] = [
    ["/v1/models", "/v1/models", "unsaid"],
    ["/cluster/v1/models", "/v1/models", "cluster"],
    ["/cluster/api/tags", "/api/tags", "cluster"],
    ["/node/ben/v1/x", "/v1/x", "node"],
    ["/cluster/members", "/cluster/members", "unsaid"],
    ["/cluster/v1", "/cluster/v1", "unsaid"],
    ["/cluster/v11/x", "/cluster/v11/x", "unsaid"],
    ["/cluster/cluster/v1/x", "/cluster/cluster/v1/x", "unsaid"],
    ["/cluster/node/ben/v1/x", "/cluster/node/ben/v1/x", "unsaid"],
    ["/node//v1/x", "/node//v1/x", "unsaid"],
    ["/node/v1/x", "/node/v1/x", "unsaid"],
    ["/v1/models/cluster/v1/x", "/v1/models/cluster/v1/x", "unsaid"],
  ];
  for (const [path, rest, kind] of table) {
    const cut = cutSourcePrefix(path);
    assert.equal(cut.path, rest);
    assert.equal(cut.source.kind, kind, path);
  }
  assert.throws(() => cutSourcePrefix("/node/%zz/v1/x"), Fault);
});

Deno.test("RouteTable tells unknown paths from wrong methods", () => {
  const table = new RouteTable([
    { method: "GET", pattern: "/a", target: 1 },
    { method: "POST", pattern: "/a", target: 2 },
    { method: "GET", pattern: "/a/{id}", target: 3 },
    { method: "GET", pattern: "/b/{rest…}", target: 4 },
  ]);
  const kind = (method: string, path: string) => table.match(method, path);
  assert.deepEqual(kind("HEAD", "/a/"), {
    kind: "found",
    pattern: "/a",
    target: 1,
    params: {},
  });
  assert.deepEqual(kind("DELETE", "/a"), {
    kind: "wrong_method",
    pattern: "/a",
    allowed: ["GET", "HEAD", "POST"],
  });
  assert.deepEqual(kind("GET", "/a/x/y"), { kind: "unknown" });
  assert.deepEqual(kind("GET", "/b/"), { kind: "unknown" });
  assert.deepEqual(kind("GET", "/b//x%2Fy/z"), {
    kind: "found",
    pattern: "/b/{rest…}",
    target: 4,
    params: { rest: "/x/y/z" },
  });
  assert.throws(() => kind("GET", "/a/%"), Fault);
});

Deno.test("handle answers HEAD like GET, and 405 with the methods there are", async () => {
  const { api } = apiUnderTest();
  const head = await api.handle(get("/healthz", { method: "HEAD" }), LOOPBACK);
  assert.equal(head.status, 200);
  assert.equal(head.body, null);
  const wrong = await api.handle(get("/v1/chat/completions"), LOOPBACK);
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers.get("allow"), "POST");
  assert.equal((await errorOf(wrong)).code, "method_not_allowed");
  const doubled = await api.handle(get("//v1/models/"), LOOPBACK);
  assert.equal(doubled.status, 200);
  await doubled.body?.cancel();
});

Deno.test("handle names what a dialect has and Covey does not, in that dialect's shape", async () => {
  const { api } = apiUnderTest();
  const openai = await api.handle(
    post("/v1/responses/compact", CHAT),
    LOOPBACK,
  );
  assert.equal(openai.status, 501);
  assert.equal(openai.headers.get("x-should-retry"), "false");
  const error = await errorOf(openai);
  assert.equal(error.code, "not_implemented");
  assert.match(error.message, /\/v1\/responses/);
  const anthropic = await api.handle(
    post("/cluster/v1/messages/batches", CHAT),
    LOOPBACK,
  );
  assert.equal(anthropic.status, 501);
  const shaped = await anthropic.json();
  assert.equal(shaped.type, "error");
  assert.equal(shaped.error.type, "api_error");
  const ollama = await api.handle(post("/api/push", {}), LOOPBACK);
  assert.equal(ollama.status, 501);
  assert.equal(typeof (await ollama.json()).error, "string");
  const lost = await api.handle(get("/api/nothing"), LOOPBACK);
  assert.equal(lost.status, 404);
  assert.match((await lost.json()).error, /no route GET \/api\/nothing/);
});

Deno.test("the status routes tell how things stand", async () => {
  const starting = apiUnderTest({
    ready: () => ({ kind: "starting", waitingFor: "cluster keys" }),
    hasCluster: () => false,
  });
  const { api, router, render } = apiUnderTest();
  const json = async (path: string, from = api) =>
    await (await from.handle(get(path), LOOPBACK)).json();

  assert.deepEqual(await json("/readyz"), { status: "ready" });
  const wait = await starting.api.handle(get("/readyz"), LOOPBACK);
  assert.equal(wait.status, 503);
  assert.equal((await wait.json()).waitingFor, "cluster keys");
  assert.deepEqual(await json("/healthz", starting.api), { status: "ok" });
  const root = await api.handle(get("/"), LOOPBACK);
  assert.match(await root.text(), /^Covey is running/);

  assert.equal((await json("/cluster/members", starting.api)).cluster, null);
  const { cluster, members } = await json("/cluster/members");
  assert.equal(cluster.id, "33333333-3333-4333-8333-333333333333");
  assert.deepEqual(members[1], {
    id: PEER,
    name: "ben",
    self: false,
    health: "RECOVERY",
    draining: true,
    addresses: [],
    version: null,
    state: "member",
    role: "node",
    tier: null,
    seat: null,
    note: null,
  });

  const record: DecisionRecord = {
    id: "decision-1" as DecisionId,
    model: "m",
    source: "unsaid",
    policy: "local_first",
    seed: 1,
    promptTokens: 1,
    maxOutputTokens: null,
    expectedOutputTokens: 2,
    chosen: null,
    predictedMs: null,
    candidates: [],
    attempts: [],
    actual: null,
  };
  router.decisions.set(record.id, record);
  assert.deepEqual(await json(`/covey/decisions/${record.id}`), record);
  const helped = apiUnderTest({
    copyHelp: (model) =>
      model === "m" ? { state: "watching", reason: "Too many ask" } : null,
  });
  helped.router.decisions.set(record.id, record);
  assert.deepEqual(
    await (await helped.api.handle(
      get(`/covey/decisions/${record.id}`),
      LOOPBACK,
    )).json(),
    { ...record, help: { state: "watching", reason: "Too many ask" } },
  );
  router.decisions.set("decision-9" as DecisionId, {
    ...record,
    id: "decision-9" as DecisionId,
  });
  const listed = async (query: string) => {
    const response = await api.handle(
      get(`/covey/decisions${query}`),
      LOOPBACK,
    );
    assert.equal(
      response.headers.get("content-type"),
      "application/x-ndjson",
    );
    return (await response.text()).trimEnd().split("\n")
      .map((line) => JSON.parse(line).id);
  };
  assert.deepEqual(await listed(""), ["decision-9", "decision-1"]);
  assert.deepEqual(await listed("?limit=1"), ["decision-9"]);
  for (const limit of ["0", "-1", "1001", "x", "1.5", ""]) {
    const refused = await api.handle(
      get(`/covey/decisions?limit=${limit}`),
      LOOPBACK,
    );
    assert.equal(refused.status, 400, limit);
    assert.match((await errorOf(refused)).message, /from 1 to 1000/);
  }
  for (const id of ["decision-2", "x", "%20"]) {
    const none = await api.handle(get(`/covey/decisions/${id}`), LOOPBACK);
    assert.equal(none.status, 404);
    assert.equal((await errorOf(none)).code, "not_found");
  }

  const metrics = await api.handle(get("/metrics"), LOOPBACK);
  assert.match(metrics.headers.get("content-type") ?? "", /version=0\.0\.4/);
  assert.match(await metrics.text(), /covey_http_requests_total/);
  assert.match(
    await render(),
    /requests_total\{route="\/covey\/decisions\/\{id\}",method="GET",status="4xx"\} 3\n/,
  );
});

Deno.test("MET-01 what callers make up never becomes a series", async () => {
  const { api, render } = apiUnderTest();
  const visit = async (request: Request) =>
    await (await api.handle(request, LOOPBACK)).body?.cancel();
  const round = async (n: number) => {
    await visit(get(`/made/up/${n}`));
    await visit(get(`/v1/models/${n}`));
    await visit(get("/healthz", { method: `VERB${n}` }));
    await visit(post("/v1/chat/completions", { ...CHAT, model: `m${n}` }));
    await visit(post("/v1/chat/completions", { ...CHAT, model: { n } }));
    await visit(get("/v1/models", { headers: { host: `h${n}.example` } }));
  };
  await round(0);
  const before = (await render()).split("\n").length;
  for (let n = 1; n < 300; n++) await round(n);
  assert.equal((await render()).split("\n").length, before);
});
