import assert from "node:assert/strict";
import { EVERY_NETWORK, parseNetwork, Secret } from "../../src/domain/mod.ts";
import type { AccessRules } from "../../src/api/mod.ts";
import {
  createSeededEntropy,
  FileError,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { loadClientKeys } from "../../src/store/client_keys.ts";
import {
  apiUnderTest,
  CHAT,
  CHAT_ANSWER,
  errorOf,
  get,
  LAN,
  LOOPBACK,
  OPEN_TO_LOOPBACK,
  post,
} from "./api_under_test.ts";

async function withKeys(
  access: Partial<AccessRules> = {},
  rateLimit: { readonly requestsPerMinute: number } | null = null,
) {
  const files = new MemoryFiles({ "/data/x": "" });
  const clientKeys = await loadClientKeys({
    files,
    entropy: createSeededEntropy(3),
    nowMs: () => 5,
    dataDir: "/data",
  });
  const made = apiUnderTest({
    clientKeys,
    rateLimit,
    access: { ...OPEN_TO_LOOPBACK, ...access },
  });
  made.router.answer = () => ({ body: CHAT_ANSWER });
  const as = (key: string) => ({ authorization: `Bearer ${key}` });
  return { ...made, clientKeys, as, files };
}

Deno.test("a key that can not be kept is refused with what to do, and without a path", async () => {
  const { api, files } = await withKeys();
  files.writeAtomic = (path) =>
    Promise.reject(new FileError("full", path, "write", undefined));
  const refused = await api.handle(
    post("/covey/keys", { name: "lap" }),
    LOOPBACK,
  );
  assert.equal(refused.status, 507);
  const { message } = await errorOf(refused);
  assert.match(message, /make room/);
  assert.doesNotMatch(message, /\/data/);
});

Deno.test("a key made over the API works at once, can not make keys itself, and is worthless once revoked", async () => {
  const { api, as } = await withKeys();
  const made = await api.handle(post("/covey/keys", { name: "lap" }), LOOPBACK);
  assert.equal(made.status, 200);
  assert.equal(made.headers.get("cache-control"), "no-store");
  const { key, admin } = await made.json();
  assert.equal(admin, false);

  const chat = () =>
    api.handle(post("/v1/chat/completions", CHAT, as(key)), LAN);
  const answered = await chat();
  assert.equal(answered.status, 200);
  await answered.body?.cancel();
  for (
    const request of [
      get("/covey/keys", { headers: as(key) }),
      post("/covey/keys", { name: "more", admin: true }, as(key)),
      get("/covey/keys/lap", { method: "DELETE", headers: as(key) }),
    ]
  ) {
    const refused = await api.handle(request, LAN);
    assert.equal(refused.status, 403);
    assert.match((await errorOf(refused)).message, /scope "admin"/);
  }
  const listed = await api.handle(get("/covey/keys"), LOOPBACK);
  const text = await listed.text();
  assert.deepEqual(JSON.parse(text), {
    keys: [{ name: "lap", admin: false, createdAtMs: 5 }],
  });

  const revoked = await api.handle(
    get("/covey/keys/lap", { method: "DELETE" }),
    LOOPBACK,
  );
  assert.deepEqual(await revoked.json(), { revoked: "lap" });
  assert.equal((await chat()).status, 401);
  const again = await api.handle(
    get("/covey/keys/lap", { method: "DELETE" }),
    LOOPBACK,
  );
  assert.equal(again.status, 404);
});

Deno.test("an admin key administers from afar; keys of COVEY_API_KEYS never do", async () => {
  const { api, as, clientKeys } = await withKeys({
    apiKeys: [new Secret("configured-key")],
  });
  const key = await clientKeys.add("ops", true);
  const made = await api.handle(
    post("/covey/keys", { name: "b" }, as(key)),
    LAN,
  );
  assert.equal(made.status, 200);
  const plain = await api.handle(
    post("/covey/keys", { name: "c" }, as("configured-key")),
    LAN,
  );
  assert.equal(plain.status, 403);
  const stranger = await api.handle(get("/covey/keys"), LAN);
  assert.equal(stranger.status, 401);
});

Deno.test("the routes of keys take JSON alone, bounded, and name what is wrong", async () => {
  const { api } = await withKeys();
  const rows: [Request, number, RegExp][] = [
    [
      post("/covey/keys", "name=x", { "content-type": "text/plain" }),
      415,
      /application\/json/,
    ],
    [post("/covey/keys", {}), 400, /"name": text/],
    [post("/covey/keys", { name: 1 }), 400, /"name": text/],
    [post("/covey/keys", { name: "x", admin: "yes" }), 400, /true or false/],
    [post("/covey/keys", { name: "a/b" }), 400, /can not be called "a\/b"/],
    [post("/covey/keys", { name: "x".repeat(17_000) }), 413, /16384/],
  ];
  for (const [request, status, message] of rows) {
    const response = await api.handle(request, LOOPBACK);
    assert.equal(response.status, status);
    assert.match((await errorOf(response)).message, message);
  }
});

Deno.test("networks allowed without a key open to their addresses alone, and to no proxy", async () => {
  const network = parseNetwork("172.16.0.0/12");
  assert.ok(network !== undefined);
  const { api } = await withKeys({ allowAnonymous: [network] });
  const from = (remoteHost: string, headers: Record<string, string> = {}) =>
    api.handle(get("/v1/models", { headers }), {
      remoteHost,
      localHost: "172.17.0.1",
    });
  assert.equal((await from("172.17.0.2")).status, 200);
  assert.equal((await from("::ffff:172.17.0.2")).status, 200);
  assert.equal((await from("192.168.1.20")).status, 401);
  // Whoever calls through a proxy of that network may come from anywhere.
  assert.equal(
    (await from("172.17.0.2", { "x-forwarded-for": "8.8.8.8" })).status,
    401,
  );
  const change = await api.handle(post("/covey/keys", { name: "x" }), {
    remoteHost: "172.17.0.2",
    localHost: "172.17.0.1",
  });
  assert.equal(change.status, 403);
});

Deno.test("each key and each address without one has its own rate, answered 429 in the dialect's shape", async () => {
  const { api, as, clientKeys, clock } = await withKeys(
    { allowAnonymous: EVERY_NETWORK },
    { requestsPerMinute: 2 },
  );
  const key = await clientKeys.add("a", false);
  const other = await clientKeys.add("b", false);
  const ask = async (path: string, headers = {}, info = LAN) => {
    const response = await api.handle(get(path, { headers }), info);
    return {
      status: response.status,
      retryAfter: response.headers.get("retry-after"),
      body: await response.json(),
    };
  };
  assert.equal((await ask("/v1/models", as(key))).status, 200);
  assert.equal((await ask("/v1/models", as(key))).status, 200);
  const openai = await ask("/v1/models", as(key));
  assert.equal(openai.status, 429);
  assert.equal(openai.retryAfter, "30");
  assert.equal(openai.body.error.type, "rate_limit_error");
  const ollama = await ask("/api/tags", as(key));
  assert.equal(ollama.status, 429);
  assert.equal(typeof ollama.body.error, "string");
  const response = await api.handle(
    post("/v1/messages", { ...CHAT, max_tokens: 1 }, as(key)),
    LAN,
  );
  assert.equal(response.status, 429);
  assert.equal((await response.json()).error.type, "rate_limit_error");

  // Nobody else pays for it: another key, an address, this machine.
  assert.equal((await ask("/v1/models", as(other))).status, 200);
  assert.equal((await ask("/v1/models")).status, 200);
  for (let n = 0; n < 5; n++) {
    assert.equal((await ask("/v1/models", {}, LOOPBACK)).status, 200);
    assert.equal((await ask("/healthz")).status, 200);
  }
  await clock.advance(29_000);
  assert.equal((await ask("/v1/models", as(key))).status, 429);
  await clock.advance(1_000);
  assert.equal((await ask("/v1/models", as(key))).status, 200);
  assert.equal((await ask("/v1/models", as(key))).status, 429);
});
