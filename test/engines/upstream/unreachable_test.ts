import assert from "node:assert/strict";
import { UnreachableError } from "../../../src/engines/http_client.ts";
import { createOwnFetch } from "../../../src/engines/own_fetch.ts";
import { UpstreamHttp } from "../../../src/engines/upstream/upstream_http.ts";
import { ManualClock } from "../../../src/platform/mod.ts";

const { signal } = new AbortController();
const CALL = { path: "/v1/chat/completions", headers: {}, body: "{}" };

/** A port of this machine where nobody listens, and an address with it. */
function nobody() {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const origin = `http://127.0.0.1:${listener.addr.port}`;
  return { origin, root: origin, openai: `${origin}/v1` };
}

Deno.test("UpstreamHttp says that nobody is there where no connection stands, by either way to a server", async () => {
  const clock = new ManualClock();
  using own = createOwnFetch(clock);
  for (const way of [{ plain: own.plain }, {}]) {
    const http = new UpstreamHttp({
      url: nobody(),
      fetch: own.fetch,
      clock,
      ...way,
    });
    await assert.rejects(http.post(CALL, signal), UnreachableError);
  }
});

Deno.test("UpstreamHttp does not say so of a server that ends the connection without an answer", async () => {
  const clock = new ManualClock();
  using own = createOwnFetch(clock);
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const origin = `http://127.0.0.1:${listener.addr.port}`;
  const serving = (async () => {
    using connection = await listener.accept();
    await connection.read(new Uint8Array(4096));
  })();
  const http = new UpstreamHttp({
    url: { origin, root: origin, openai: `${origin}/v1` },
    fetch: own.fetch,
    clock,
  });
  await assert.rejects(
    http.post(CALL, signal),
    (error) => !(error instanceof UnreachableError),
  );
  await serving;
});
