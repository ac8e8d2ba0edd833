/**
 * The sentences of design.md 7, "Who may do what", each held against the whole
 * table of routes, so that a route that comes later is held against them too.
 * What a sentence means in detail is tested in access_test.ts, keys_test.ts,
 * routes_test.ts and node_server_test.ts.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Secret } from "../../src/domain/mod.ts";
import { createSeededEntropy, MemoryFiles } from "../../src/platform/mod.ts";
import type { ApiOptions } from "../../src/api/mod.ts";
import { createRoutes } from "../../src/api/routes.ts";
import { loadClientKeys } from "../../src/store/client_keys.ts";
import {
  apiUnderTest,
  CHAT,
  CHAT_ANSWER,
  get,
  LAN,
  LOOPBACK,
  OPEN_TO_LOOPBACK,
  post,
  SELF,
} from "./api_under_test.ts";

const KEY = "covey-test-key-0001";
const AS_CLIENT = { authorization: `Bearer ${KEY}` };
const OWN_ORIGIN = "http://127.0.0.1:11411";

/** What the cluster is asked that changes nothing. */
const LOOKS = /^(?:doctor|audit|copies)$/;

async function publicSide() {
  const clientKeys = await loadClientKeys({
    files: new MemoryFiles({ "/data/x": "" }),
    entropy: createSeededEntropy(3),
    nowMs: () => 5,
    dataDir: "/data",
  });
  const acts: string[] = [];
  const changes: Partial<ApiOptions> = {
    clientKeys,
    access: { ...OPEN_TO_LOOPBACK, apiKeys: [new Secret(KEY)] },
    act: (action) => {
      acts.push(action);
      return Promise.resolve({ done: action });
    },
  };
  const made = apiUnderTest(changes);
  made.router.answer = () => ({ body: CHAT_ANSWER });
  const { render, ...under } = made;
  const routes = createRoutes({
    ...changes,
    router: under.router,
    clock: under.clock,
    log: under.log,
    renderMetrics: render,
    members: () => [],
    self: { id: SELF, name: "anna" },
    // What routes are made from, as the API under test has it.
  } as unknown as ApiOptions).map(({ method, pattern, target }) => ({
    method: method === "*" ? "POST" : method,
    path: pattern.replace(/\{[^}]+\}/g, "x"),
    scope: target.scope,
  }));
  assert.ok(routes.length > 30);
  const status = async (request: Request, info = LAN) => {
    const response = await made.api.handle(request, info);
    await response.body?.cancel();
    return response.status;
  };
  return { ...under, acts, clientKeys, routes, status };
}

Deno.test('"Only /healthz and /readyz are open to all": every other route asks a stranger for a key', async () => {
  const { routes, status } = await publicSide();
  const open = routes.filter(({ scope }) => scope === "open");
  assert.deepEqual(open.map(({ path }) => path), ["/healthz", "/readyz"]);
  for (const { method, path, scope } of routes) {
    const expected = scope === "open" ? 200 : 401;
    assert.equal(await status(get(path, { method })), expected, path);
  }
  assert.equal(await status(get("/nowhere")), 401);
});

Deno.test('"COVEY_API_KEYS give infer + read": such a key opens no admin route, and every other one', async () => {
  const { acts, routes, status } = await publicSide();
  for (const { method, path, scope } of routes) {
    const got = await status(
      get(path, {
        method,
        headers: { ...AS_CLIENT, "content-type": "application/json" },
        ...(method === "GET" ? {} : { body: "{}" }),
      }),
    );
    if (scope === "admin") assert.equal(got, 403, `${method} ${path}`);
    else assert.ok(got !== 401 && got !== 403, `${method} ${path} ${got}`);
  }
  // Looking is all that a key without the scope made the cluster do.
  assert.deepEqual(acts.filter((act) => !LOOKS.test(act)), []);
});

Deno.test('"A caller without a key is local only if …": local callers reach every admin route, and a key of an admin does from afar', async () => {
  const { clientKeys, routes, status } = await publicSide();
  const key = await clientKeys.add("ops", true);
  for (const { method, path, scope } of routes) {
    if (scope !== "admin") continue;
    const headers = { "content-type": "application/json" };
    const body = method === "GET" ? {} : { body: "{}" };
    const local = await status(
      get(path, { method, headers, ...body }),
      LOOPBACK,
    );
    const afar = await status(
      get(path, {
        method,
        headers: { ...headers, authorization: `Bearer ${key}` },
        ...body,
      }),
    );
    for (const got of [local, afar]) {
      assert.ok(got !== 401 && got !== 403, `${method} ${path} ${got}`);
    }
  }
});

Deno.test('"On every bind, Host … and Origin …, else 403": on all routes, for local callers and for those with a key', async () => {
  const { routes, status } = await publicSide();
  for (const { method, path } of routes) {
    for (
      const headers of [
        { host: "evil.example" },
        { origin: "http://evil.example" },
        { origin: "null" },
        { host: "127.0.0.1.evil.example", origin: OWN_ORIGIN },
      ]
    ) {
      for (const info of [LOOPBACK, LAN]) {
        const request = get(path, {
          method,
          headers: { ...AS_CLIENT, ...headers } as Record<string, string>,
        });
        assert.equal(await status(request, info), 403, `${method} ${path}`);
      }
    }
  }
});

Deno.test("no page of an origin that was not allowed is let in by CORS, on any route", async () => {
  const { api, routes } = await publicSide();
  for (const { method, path } of routes) {
    for (const asked of [method, "OPTIONS"]) {
      const response = await api.handle(
        get(path, {
          method: asked,
          headers: {
            origin: "http://evil.example",
            "access-control-request-method": method,
          },
        }),
        LOOPBACK,
      );
      await response.body?.cancel();
      assert.equal(response.status, 403, path);
      assert.equal(response.headers.get("access-control-allow-origin"), null);
    }
  }
});

Deno.test('"GET changes nothing": no route of GET administers, but to show the names of keys', async () => {
  const { acts, routes, status } = await publicSide();
  const admin = routes.filter(({ scope }) => scope === "admin");
  assert.ok(admin.length > 5);
  assert.deepEqual(
    admin.filter(({ method }) => method === "GET").map(({ path }) => path),
    ["/covey/keys"],
  );
  for (const { method, path } of admin) {
    if (method === "GET") continue;
    const got = await status(get(path), LOOPBACK);
    const looks = routes.some((one) =>
      one.method === "GET" && one.path === path
    );
    assert.ok(got === 405 || looks, `GET ${path} ${got}`);
  }
  assert.deepEqual(acts.filter((act) => !LOOKS.test(act)), []);
});

Deno.test('"Admin routes take application/json only": no form and no plain text changes anything', async () => {
  const { acts, clientKeys, routes, status } = await publicSide();
  for (const { method, path, scope } of routes) {
    if (scope !== "admin" || method === "GET") continue;
    for (
      const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
      ]
    ) {
      const request = get(path, {
        method,
        headers: { "content-type": type },
        body: '{"name":"x"}',
      });
      assert.equal(await status(request, LOOPBACK), 415, `${method} ${path}`);
    }
  }
  assert.deepEqual(acts, []);
  assert.deepEqual(clientKeys.list(), []);
});

Deno.test('"The prefixes are cut off once, only before /v1/ or /api/, and the rest is authorised as if it had come without"', async () => {
  const { routes, status } = await publicSide();
  for (const { method, path, scope } of routes) {
    for (const prefix of ["/cluster", `/node/${SELF}`]) {
      const asked = `${prefix}${path}`;
      const stranger = await status(get(asked, { method }));
      assert.equal(stranger, 401, `${method} ${asked}`);
      if (/^\/(?:v1|api)\//.test(path)) continue;
      const known = await status(get(asked, { method }), LOOPBACK);
      // Cut off elsewhere, a prefix would be a second way to what is guarded.
      assert.ok(
        known === 404 || routes.some((one) => one.path === asked),
        `${method} ${asked} ${scope} ${known}`,
      );
    }
  }
  for (
    const path of [
      "/cluster/cluster/v1/models",
      `/node/${SELF}/node/${SELF}/v1/models`,
      `/node/${SELF}/cluster/members`,
      "/cluster//v1/models",
      "/cluster/v1",
    ]
  ) assert.equal(await status(get(path), LOOPBACK), 404, path);
  assert.equal(await status(get("/cluster/v1/models"), LOOPBACK), 200);
});

Deno.test('"A key is checked at the entry only and never forwarded": nothing that goes on holds it, and its client is an opaque tag', async () => {
  const { clientKeys, router, status } = await publicSide();
  const named = await clientKeys.add("laptop", false);
  for (const key of [KEY, named]) {
    for (
      const headers of [{ authorization: `Bearer ${key}` }, {
        "x-api-key": key,
      }]
    ) {
      const request = post(
        "/v1/chat/completions",
        CHAT,
        headers as Record<string, string>,
      );
      assert.equal(await status(request), 200);
    }
  }
  assert.equal(router.requests.length, 4);
  const clients = new Set(router.requests.map(({ client }) => client));
  assert.equal(clients.size, 2, "one tag a key, however it is sent");
  for (const request of router.requests) {
    const text = JSON.stringify(request);
    assert.ok(!text.includes(KEY) && !text.includes(named));
    assert.ok(!text.includes("laptop"));
  }
});
