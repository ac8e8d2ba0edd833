import assert from "node:assert/strict";
import { EVERY_NETWORK, Secret } from "../../src/domain/mod.ts";
import type { AccessRules } from "../../src/api/mod.ts";
import { createAnonymousTag } from "../../src/api/anonymous_tag.ts";
import { parseHost } from "../../src/api/host_name.ts";
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

const KEY = "covey-test-key-0001";

function gate(changes: Partial<AccessRules> = {}) {
  const { api, router } = apiUnderTest({
    access: { ...OPEN_TO_LOOPBACK, ...changes },
  });
  router.answer = () => ({ body: CHAT_ANSWER });
  const status = async (
    headers: Record<string, string>,
    info = LOOPBACK,
    path = "/v1/models",
  ) => {
    const response = await api.handle(get(path, { headers }), info);
    await response.body?.cancel();
    return response.status;
  };
  return { api, router, status };
}

Deno.test("handle refuses host names that a web page could make up", async () => {
  const { api, status } = gate({ allowedHosts: ["Pool.Example"] });
  const fine = [
    "127.0.0.1:11411",
    "[::1]:11411",
    "localhost",
    "LOCALHOST:1",
    "anna",
    "ANNA:11411",
    "anna.local",
    "x.internal",
    "pool.example",
    "pool.example.:80",
  ];
  // No key is asked of a proper name, but only loopback names make a caller local.
  for (const host of fine) assert.notEqual(await status({ host }), 403, host);
  const bad = [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "pool.example.evil",
    "1.2.3.4.5",
    "a b",
    "anna@evil",
    "[::1",
    "localhost:port",
    "local",
    "",
  ];
  for (const host of bad) assert.equal(await status({ host }), 403, host);
  const refused = await api.handle(
    get("/healthz", { headers: { host: "evil.example" } }),
    LOOPBACK,
  );
  assert.match((await errorOf(refused)).message, /COVEY_ALLOWED_HOSTS/);
});

Deno.test("parseHost takes the port and the brackets off", () => {
  assert.deepEqual(parseHost("[FE80::1%eth0]:80"), {
    name: "fe80::1",
    literal: true,
  });
  assert.deepEqual(parseHost("10.0.0.1"), { name: "10.0.0.1", literal: true });
  assert.deepEqual(parseHost("Host.Name:1"), {
    name: "host.name",
    literal: false,
  });
  assert.equal(parseHost("256.1.1.1")?.literal, false);
  assert.equal(parseHost("a:b:c"), undefined);
});

Deno.test("handle lets other pages in only where their origin is allowed", async () => {
  const page = "https://chat.example";
  const { api, status } = gate({
    allowedOrigins: [page],
    apiKeys: [new Secret(KEY)],
  });
  assert.equal(await status({ origin: "http://127.0.0.1:11411" }), 200);
  assert.equal(await status({ origin: "http://evil.example" }), 403);
  assert.equal(await status({ origin: "null" }), 403);
  assert.equal(await status({ origin: "http://127.0.0.1:11412" }), 403);
  assert.equal(await status({ origin: page }), 401, "allowed is not local");
  const keyed = await api.handle(
    get("/v1/models", {
      headers: { origin: page, authorization: `Bearer ${KEY}` },
    }),
    LOOPBACK,
  );
  assert.equal(keyed.headers.get("access-control-allow-origin"), page);
  await keyed.body?.cancel();
  const preflight = await api.handle(
    get("/v1/chat/completions", {
      method: "OPTIONS",
      headers: {
        origin: page,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
      },
    }),
    LAN,
  );
  assert.equal(preflight.status, 204);
  assert.equal(
    preflight.headers.get("access-control-allow-headers"),
    "authorization",
  );
  const leave = "access-control-allow-private-network";
  assert.equal(preflight.headers.get(leave), null);
  const inward = async (origin: string) => {
    const response = await api.handle(
      get("/v1/models", {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "GET",
          "access-control-request-private-network": "true",
        },
      }),
      LAN,
    );
    await response.body?.cancel();
    return response.headers.get(leave);
  };
  assert.equal(await inward(page), "true");
  assert.equal(await inward("https://evil.example"), null);
});

Deno.test("handle takes a caller for local only when nothing speaks against it", async () => {
  const { status } = gate({ apiKeys: [new Secret(KEY)] });
  assert.equal(await status({}), 200);
  assert.equal(await status({ host: "localhost:11411" }), 200);
  const mapped = { remoteHost: "::ffff:127.0.0.1", localHost: "::1" };
  assert.equal(await status({}, mapped), 200);
  assert.equal(await status({}, LAN), 401);
  assert.equal(await status({}, { ...LOOPBACK, localHost: "10.0.0.1" }), 401);
  assert.equal(await status({ host: "anna.local" }), 401);
  assert.equal(await status({ host: "192.168.1.10" }), 401);
  for (
    const header of [
      "forwarded",
      "x-forwarded-for",
      "x-forwarded-proto",
      "x-real-ip",
      "via",
      "cf-connecting-ip",
    ]
  ) assert.equal(await status({ [header]: "1" }), 401, header);
  assert.equal(await gate({ trustLoopback: false }).status({}), 401);
});

Deno.test("handle knows its keys under both headers and no others", async () => {
  const { api, router, status } = gate({
    apiKeys: [new Secret("another-key-entirely"), new Secret(KEY)],
  });
  const bearer = { authorization: `Bearer ${KEY}` };
  assert.equal(await status(bearer, LAN), 200);
  assert.equal(await status({ authorization: `bearer  ${KEY}` }, LAN), 200);
  assert.equal(await status({ "x-api-key": KEY }, LAN), 200);
  for (
    const wrong of ["", KEY.slice(0, -1), `${KEY}x`, `${KEY}${KEY}`, "x"]
  ) {
    assert.equal(await status({ authorization: `Bearer ${wrong}` }, LAN), 401);
  }
  assert.equal(await status({ authorization: KEY }, LAN), 401);
  // A wrong key is a mistake to be told of, on this machine too.
  assert.equal(await status({ authorization: "Bearer wrong" }), 401);

  const refused = await api.handle(get("/v1/models"), LAN);
  assert.equal(refused.headers.get("www-authenticate"), "Bearer");
  const error = await errorOf(refused);
  assert.equal(error.code, "invalid_api_key");
  assert.ok(!JSON.stringify(error).includes(KEY));

  for (const key of [KEY, KEY, "another-key-entirely"]) {
    const response = await api.handle(
      post("/v1/chat/completions", CHAT, { "x-api-key": key }),
      LAN,
    );
    await response.body?.cancel();
  }
  const [one, same, other] = router.requests.map(({ client }) => client);
  assert.equal(one, same);
  assert.notEqual(one, other);
  assert.ok(!`${one}${other}`.includes(KEY));
});

Deno.test("callers without a key are told apart by a tag that says nothing of their address", async () => {
  const tags = async () => {
    const { api, router } = gate({ allowAnonymous: EVERY_NETWORK });
    for (const remoteHost of ["192.0.2.7", "192.0.2.7", "192.0.2.8"]) {
      const response = await api.handle(
        post("/v1/chat/completions", CHAT),
        { ...LAN, remoteHost },
      );
      await response.body?.cancel();
    }
    return router.requests.map(({ client }) => client);
  };
  const [one, same, other] = await tags();
  assert.match(one ?? "", /^anonymous-[0-9a-f]{24}$/);
  assert.equal(one, same);
  assert.notEqual(one, other);
});

Deno.test("the tag of an address is another one in each process", async () => {
  const tagOf = createAnonymousTag(new Uint8Array([1]));
  const other = createAnonymousTag(new Uint8Array([2]));
  assert.notEqual(await tagOf("192.0.2.7"), await other("192.0.2.7"));
  const first = await tagOf("192.0.2.7");
  // More than are remembered: what was forgotten comes out the same again.
  const many = Array.from({ length: 1_100 }, (_, n) => `10.0.${n >> 8}.${n}`);
  for (const address of many) assert.notEqual(await tagOf(address), first);
  assert.equal(await tagOf("192.0.2.7"), first);
});

Deno.test("handle asks no key where none is set and strangers may call, nor for health", async () => {
  const anonymous = gate({ allowAnonymous: EVERY_NETWORK });
  assert.equal(await anonymous.status({}, LAN), 200);
  assert.equal(
    await anonymous.status({ authorization: "Bearer any" }, LAN),
    200,
  );
  const closed = gate();
  for (const path of ["/healthz", "/readyz"]) {
    assert.equal(await closed.status({}, LAN, path), 200);
  }
  for (const path of ["/", "/metrics", "/cluster/members", "/nowhere"]) {
    assert.equal(await closed.status({}, LAN, path), 401, path);
  }
});
