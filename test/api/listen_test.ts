import assert from "node:assert/strict";
import { createSystemClock, ManualClock } from "../../src/platform/mod.ts";
import {
  type ListenersOptions,
  openListeners,
  StartError,
} from "../../src/api/mod.ts";
import type { BoundServer } from "../../src/api/deno_server.ts";
import { findPortHolder, listeningInodes } from "../../src/api/port_holder.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import { apiUnderTest, CHAT, CHAT_ANSWER, errorOf } from "./api_under_test.ts";

const ANY = { host: "127.0.0.1", port: 0 };
const LINUX = Deno.build.os === "linux";

async function open(
  stack: AsyncDisposableStack,
  changes: Partial<ListenersOptions>,
) {
  const listeners = stack.use(
    await openListeners({
      addresses: [ANY],
      handle: () => Promise.resolve(new Response("hi")),
      log: new QuietLog(),
      clock: createSystemClock(),
      ...changes,
    }),
  );
  const [at] = listeners.addresses;
  assert.ok(at !== undefined && at.port > 0);
  return { listeners, url: `http://${at.host}:${at.port}`, port: at.port };
}

Deno.test("SSE-13 over a socket, a client that offers gzip gets each event as it comes", async () => {
  await using stack = new AsyncDisposableStack();
  const { api, router } = apiUnderTest();
  let sink: ReadableStreamDefaultController<Uint8Array> | undefined;
  let left = false;
  const cancelled = Promise.withResolvers<void>();
  router.answer = () => ({
    contentType: "text/event-stream",
    body: new ReadableStream({
      start(controller) {
        sink = controller;
      },
      cancel() {
        left = true;
        cancelled.resolve();
      },
    }),
  });
  const { url } = await open(stack, { handle: api.handle });
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "accept-encoding": "gzip, br" },
    body: JSON.stringify({ ...CHAT, stream: true }),
  });
  const event = `data: ${
    JSON.stringify({ model: "m", text: "x".repeat(4000) })
  }\n\n`;
  assert.equal(response.headers.get("content-encoding"), null);
  assert.equal(response.headers.get("vary"), null);
  const reader = response.body?.pipeThrough(new TextDecoderStream())
    .getReader();
  for (let n = 0; n < 3; n++) {
    sink?.enqueue(new TextEncoder().encode(event));
    let got = "";
    // Were an event held back, this would wait for the next one for ever.
    while (got.length < event.length) {
      const { value, done } = await reader?.read() ??
        { done: true, value: undefined };
      assert.equal(done, false);
      got += value ?? "";
    }
    assert.equal(got, event);
  }
  assert.equal(left, false);
  await reader?.cancel();
  await cancelled.promise;
});

Deno.test("SSE-11 over a socket, a client that leaves before its answer aborts the request's signal", async () => {
  await using stack = new AsyncDisposableStack();
  const { api, router } = apiUnderTest();
  const asked = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  router.answer = (_request, signal) => {
    asked.resolve();
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        aborted.resolve();
        reject(signal.reason);
      })
    );
  };
  const { url } = await open(stack, { handle: api.handle });
  const leave = new AbortController();
  const answered = fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify(CHAT),
    signal: leave.signal,
  });
  await asked.promise;
  leave.abort();
  await assert.rejects(answered);
  await aborted.promise;
});

Deno.test("over a socket, a request that was answered does not abort its signal", async () => {
  await using stack = new AsyncDisposableStack();
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: CHAT_ANSWER });
  const { url } = await open(stack, { handle: api.handle });
  for (let n = 0; n < 2; n++) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify(CHAT),
    });
    assert.equal(await response.text(), CHAT_ANSWER);
  }
  assert.deepEqual(router.signals.map(({ aborted }) => aborted), [
    false,
    false,
  ]);
});

Deno.test("openListeners names the port, its holder and the remedy when the port is taken", async () => {
  await using stack = new AsyncDisposableStack();
  const { port } = await open(stack, {});
  const second = openListeners({
    addresses: [ANY, { host: "127.0.0.1", port }],
    handle: () => Promise.resolve(new Response()),
    log: new QuietLog(),
    clock: createSystemClock(),
  });
  await assert.rejects(second, (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, new RegExp(`:${port}: the port is in use`));
    assert.match(error.message, /COVEY_PORT/);
    assert.ok(!error.message.includes("\n"));
    if (LINUX) {
      assert.match(error.message, new RegExp(`\\(process ${Deno.pid}\\)`));
    }
    return true;
  });
  const foreign = openListeners({
    addresses: [{ host: "192.0.2.1", port: 0 }],
    handle: () => Promise.resolve(new Response()),
    log: new QuietLog(),
    clock: createSystemClock(),
  });
  await assert.rejects(foreign, /192\.0\.2\.1.*COVEY_HOST/);
});

/** A socket whose fate a test decides. */
function scripted(port: number) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server: BoundServer = {
    port,
    finished: promise,
    drain: () => Promise.resolve(),
    close: resolve,
  };
  return { server, reject };
}

Deno.test("openListeners opens a broken socket again, on its port, with growing delay", async () => {
  const clock = new ManualClock();
  const log = new QuietLog();
  const first = scripted(4242);
  const third = scripted(4242);
  const bound: { port: number; atMs: number }[] = [];
  const listeners = await openListeners({
    addresses: [ANY],
    handle: () => Promise.resolve(new Response()),
    log,
    clock,
    bind({ port }) {
      bound.push({ port, atMs: clock.monotonic() });
      if (bound.length === 1) return first.server;
      if (bound.length === 3) return third.server;
      throw new Error("Too many open files");
    },
  });
  first.reject(new Error("Too many open files"));
  await clock.advance(10_000);
  assert.deepEqual(bound, [
    { port: 0, atMs: 0 },
    { port: 4242, atMs: 1000 },
    { port: 4242, atMs: 3000 },
  ]);
  assert.equal(log.lines.filter(({ level }) => level === "error").length, 2);
  third.reject(new Error("Too many open files"));
  await clock.advance(500);
  await listeners[Symbol.asyncDispose]();
  assert.equal(bound.length, 3);
  assert.equal(clock.pending, 0);
});

Deno.test("disposing listeners lets a request end and refuses others meanwhile", async () => {
  const started = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Response>();
  const { listeners, url } = await open(new AsyncDisposableStack(), {
    handle() {
      started.resolve();
      return answer.promise;
    },
  });
  const running = fetch(url);
  await started.promise;
  const closed = listeners[Symbol.asyncDispose]();
  const refused = await fetch(`${url}/v1/models`);
  assert.equal(refused.status, 503);
  assert.equal((await errorOf(refused)).code, "shutting_down");
  answer.resolve(new Response("done"));
  assert.equal(await (await running).text(), "done");
  await closed;
  await assert.rejects(fetch(url));
});

Deno.test("disposing listeners ends what runs beyond the grace", async () => {
  const clock = new ManualClock();
  const cancelled = Promise.withResolvers<void>();
  const { listeners, url } = await open(new AsyncDisposableStack(), {
    clock,
    graceMs: 1000,
    handle: () =>
      Promise.resolve(
        new Response(
          new ReadableStream<Uint8Array>({
            start: (controller) => controller.enqueue(new Uint8Array([1])),
            cancel: () => cancelled.resolve(),
          }),
        ),
      ),
  });
  const response = await fetch(url);
  const ended = assert.rejects(response.bytes());
  const closed = listeners[Symbol.asyncDispose]();
  await clock.advance(999);
  assert.equal(clock.pending, 1);
  await clock.advance(1);
  await closed;
  await cancelled.promise;
  await ended;
});

const TABLE =
  `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2C93 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 777 1 0 100 0 0 10 0
   1: 0100007F:2C93 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 778 1 0 100 0 0 10 0
   2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 779 1 0 100 0 0 10 0
`;

Deno.test("listeningInodes reads the kernel's table and only its listeners", () => {
  assert.deepEqual(listeningInodes(TABLE, 11411), ["777"]);
  assert.deepEqual(listeningInodes(TABLE, 80), ["779"]);
  assert.deepEqual(listeningInodes(TABLE, 81), []);
  assert.deepEqual(listeningInodes("", 80), []);
});

Deno.test("findPortHolder says nothing where nothing can be read", async () => {
  const deny = () => Promise.reject(new Deno.errors.PermissionDenied());
  const nothing = { readText: deny, list: deny, readLink: deny };
  assert.equal(await findPortHolder(80, nothing), undefined);
  const hidden = {
    readText: () => Promise.resolve(TABLE),
    list: (path: string) =>
      path === "/proc" ? Promise.resolve(["1", "self"]) : deny(),
    readLink: deny,
  };
  assert.equal(await findPortHolder(80, hidden), undefined);
});
