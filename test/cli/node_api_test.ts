import assert from "node:assert/strict";
import { createNodeApi } from "../../src/cli/mod.ts";
import { Secret } from "../../src/domain/mod.ts";
import { createSystemClock, ManualClock } from "../../src/platform/mod.ts";

/** A server on a free loopback port; asks it once and shuts it down. */
async function askServer(
  answer: (request: Request) => Response,
  apiKey: Secret | null = null,
) {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    answer,
  );
  const { fetchJson } = createNodeApi({
    clock: createSystemClock(),
    address: () =>
      Promise.resolve({
        kind: "address",
        origin: `http://127.0.0.1:${server.addr.port}`,
        apiKey,
      }),
    fetch,
  });
  return await fetchJson("/x/y");
}

Deno.test("createNodeApi returns the node's JSON and shows the key", async () => {
  const reply = await askServer(
    (request) =>
      Response.json({
        path: new URL(request.url).pathname,
        key: request.headers.get("authorization"),
      }),
    new Secret("key-of-a-client"),
  );
  assert.deepEqual(reply, {
    kind: "answered",
    body: { path: "/x/y", key: "Bearer key-of-a-client" },
  });
});

Deno.test("createNodeApi passes on the node's own words when it refuses", async () => {
  for (
    const [body, message] of [
      ['{"error":{"message":"No such decision"}}', "No such decision"],
      ['{"error":"not here"}', "not here"],
      ['{"error":7}', "The node answered with status 404"],
    ] as const
  ) {
    const reply = await askServer(() => new Response(body, { status: 404 }));
    assert(reply.kind === "refused");
    assert.deepEqual([reply.status, reply.message], [404, message]);
  }
});

Deno.test("createNodeApi says how a command gets a key where the node wants one", async () => {
  const body = '{"error":{"message":"This node asks for an API key"}}';
  const answer = () => new Response(body, { status: 401 });
  const without = await askServer(answer);
  assert(without.kind === "refused");
  assert.match(without.message, /API key\. .*COVEY_API_KEYS.*TRUST_LOOPBACK=0/);
  const wrong = await askServer(answer, new Secret("of-somebody-else"));
  assert(wrong.kind === "refused");
  assert.equal(wrong.message, "This node asks for an API key");
});

Deno.test("createNodeApi tells a foreign or endless server from a node", async () => {
  const foreign = await askServer(() => new Response("<html>"));
  assert(foreign.kind === "refused");
  assert.match(foreign.message, /is no Covey node; set COVEY_HOST and COVEY_P/);
  const other = await askServer(() =>
    new Response("404 page", { status: 404 })
  );
  assert(other.kind === "refused");
  assert.equal(
    other.message.replace(/\d+/g, ""),
    foreign.message.replace(/\d+/g, ""),
  );
  const broken = await askServer(() => new Response("Oh", { status: 500 }));
  assert(broken.kind === "refused");
  assert.equal(broken.message, "The node answered with status 500");
  const endless = await askServer(() =>
    new Response(
      ReadableStream.from(function* () {
        for (;;) yield new Uint8Array(65_536).fill(32);
      }()),
    )
  );
  assert.equal(endless.kind, "unreachable");
});

Deno.test("createNodeApi says what to do when nobody listens", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const { fetchJson } = createNodeApi({
    clock: createSystemClock(),
    address: () =>
      Promise.resolve({
        kind: "address",
        origin: `http://127.0.0.1:${port}`,
        apiKey: null,
      }),
    fetch,
  });
  const reply = await fetchJson("/readyz");
  assert(reply.kind === "unreachable");
  assert.match(
    reply.message,
    /^No node answers at http:.*COVEY_HOST and COVEY_PORT/,
  );
});

Deno.test("createNodeApi gives up on a node that is silent", async () => {
  const clock = new ManualClock();
  const { fetchJson } = createNodeApi({
    clock,
    address: () =>
      Promise.resolve({ kind: "address", origin: "http://n", apiKey: null }),
    fetch: (_url, { signal }) =>
      new Promise((_resolve, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason))
      ),
  });
  const pending = fetchJson("/readyz");
  await clock.advance(5_000);
  const reply = await pending;
  assert(reply.kind === "unreachable");
  assert.match(reply.message, /gave no answer within 5 s/);
  assert.equal(clock.pending, 0);
});

Deno.test("createNodeApi passes on what is wrong with the configuration", async () => {
  const { fetchJson } = createNodeApi({
    clock: new ManualClock(),
    address: () => Promise.resolve({ kind: "bad", line: "COVEY_PORT: no" }),
    fetch: () => Promise.reject(new Error("not asked for")),
  });
  assert.deepEqual(await fetchJson("/readyz"), {
    kind: "unreachable",
    message: "COVEY_PORT: no",
  });
});
