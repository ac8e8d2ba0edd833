import assert from "node:assert/strict";
import { HubHttp } from "../../src/models/pull/hub_http.ts";
import { boundTo } from "../../src/platform/bound_fetch.ts";
import { ManualClock } from "../../src/platform/mod.ts";
import { until } from "../fakes/simulated_pair.ts";

const FOREVER = new AbortController().signal;
const HOME = "https://hub.example";
const PATH = "/org/repo/resolve/main/m.gguf";

/** A hub that answers each address so. */
function hubOf(answer: (url: URL) => Response) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const http = new HubHttp({
    clock,
    endpoint: HOME,
    token: null,
    fetch(url, { signal }) {
      asked.push(url.href);
      return Promise.resolve(boundTo(answer(url), signal));
    },
  });
  return { asked, clock, get: () => http.get(http.urlOf(PATH), {}, FOREVER) };
}

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location } });
}

Deno.test("HubHttp follows no redirects without end, in a loop or to ever new places", async () => {
  for (const isLoop of [true, false]) {
    let n = 0;
    const { asked, get } = hubOf(() => redirect(isLoop ? PATH : `/${n++}`));
    await assert.rejects(get(), /redirects without end/);
    assert.equal(asked.length, 9);
  }
});

Deno.test("HubHttp follows no redirect off the network or out of TLS", async () => {
  for (
    const location of [
      "file:///etc/passwd",
      "http://hub.example/m.gguf",
      "ftp://hub.example/m.gguf",
      "data:application/json,{}",
      "https://",
    ]
  ) {
    const { asked, get } = hubOf(() => redirect(location));
    await assert.rejects(get(), /redirects to an unsafe address/, location);
    assert.equal(asked.length, 1, location);
  }
});

Deno.test("HubHttp gives a body up that stalls in the middle, after a minute of silence and not before", async () => {
  const { clock, get } = hubOf(() =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array([1, 2, 3]));
        },
      }),
    )
  );
  await using answer = await get();
  const pieces = answer.pieces()[Symbol.asyncIterator]();
  const { value } = await until(clock, pieces.next());
  assert.deepEqual(value, new Uint8Array([1, 2, 3]));
  const startMs = clock.monotonic();
  await assert.rejects(until(clock, pieces.next(), 500), {
    name: "TypeError",
    message: "The other side is silent",
  });
  const tookMs = clock.monotonic() - startMs;
  assert.ok(tookMs >= 59_000 && tookMs <= 62_000, `${tookMs}`);
});
