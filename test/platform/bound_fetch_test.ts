import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { boundTo } from "../../src/platform/bound_fetch.ts";
import { boundFetch } from "../../src/platform/mod.ts";

/** Have all garbage collected: what nothing but a weak reference holds is gone then. */
async function collectGarbage(): Promise<void> {
  // A weak reference holds for the rest of the turn that made it.
  await new Promise((resolve) => setTimeout(resolve, 0));
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

/** A server whose answers begin and never end, and that tells of each that was left. */
function startEndless() {
  const left = Promise.withResolvers<void>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new Uint8Array([1])),
          cancel: () => left.resolve(),
        }),
        { status: 201, headers: { "x-said": "something" } },
      ),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    left: left.promise,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** The body of an answer, in a function of its own: a frame that lasts would hold what is to be collected. */
async function begun(
  url: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const { body, headers, status } = await boundFetch(url, { signal });
  assert.equal(status, 201);
  assert.equal(headers.get("x-said"), "something");
  assert.ok(body);
  return body;
}

Deno.test("boundFetch ends a body that is read when its signal aborts, also after a garbage collection", async () => {
  await using server = startEndless();
  const leaving = new AbortController();
  const reader = (await begun(server.url, leaving.signal)).getReader();
  assert.deepEqual((await reader.read()).value, new Uint8Array([1]));
  const waiting = reader.read();
  await collectGarbage();
  const reason = new Error("Enough");
  leaving.abort(reason);
  await assert.rejects(waiting, reason);
  await server.left;
});

Deno.test("boundFetch ends a body that nobody reads yet, also after a garbage collection", async () => {
  await using server = startEndless();
  const leaving = new AbortController();
  const body = await begun(server.url, leaving.signal);
  await collectGarbage();
  const reason = new Error("Enough");
  leaving.abort(reason);
  await server.left;
  await assert.rejects(body.getReader().read(), reason);
});

Deno.test("boundTo passes an answer on as it came when nobody aborts", async () => {
  const { signal } = new AbortController();
  const whole = boundTo(
    new Response(
      ReadableStream.from([new Uint8Array([104]), new Uint8Array([105])]),
    ),
    signal,
  );
  assert.equal(await whole.text(), "hi");
  const empty = new Response(null, { status: 204 });
  assert.equal(boundTo(empty, signal), empty);
});

Deno.test("boundTo fails as the body does when that breaks off by itself", async () => {
  const broken = new TypeError("The connection broke");
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(broken),
  });
  const answer = boundTo(new Response(body), new AbortController().signal);
  await assert.rejects(answer.bytes(), broken);
});

Deno.test("boundTo gives the body up with its reader's reason", async () => {
  const given = Promise.withResolvers<unknown>();
  const body = new ReadableStream<Uint8Array>({ cancel: given.resolve });
  const answer = boundTo(new Response(body), new AbortController().signal);
  await answer.body?.cancel("left");
  assert.equal(await given.promise, "left");
});

Deno.test("boundTo fails at once when the signal was aborted before", async () => {
  const given = Promise.withResolvers<unknown>();
  const body = new ReadableStream<Uint8Array>({ cancel: given.resolve });
  const answer = boundTo(new Response(body), AbortSignal.abort("late"));
  assert.equal(await given.promise, "late");
  await assert.rejects(answer.bytes(), (reason) => reason === "late");
});
