import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import {
  type Clock,
  createSystemClock,
  ManualClock,
} from "../../src/platform/mod.ts";
import type { HandleRequest } from "../../src/api/mod.ts";
import { type ListenersOptions, openListeners } from "../../src/api/mod.ts";
import {
  bindWithNode,
  LISTENER_LIMITS,
  type ListenerLimits,
} from "../../src/api/node_server.ts";
import { hasOpenssl, makeCertificate } from "../fakes/certificate.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import { apiUnderTest, CHAT, CHAT_ANSWER } from "./api_under_test.ts";

const ANY = { host: "127.0.0.1", port: 0 };

/** Listen as on an address that strangers reach. */
async function open(
  stack: AsyncDisposableStack,
  handle: HandleRequest,
  limits: Partial<ListenerLimits> = {},
  clock: Clock = createSystemClock(),
  changes: Partial<ListenersOptions> = {},
) {
  const log = new QuietLog();
  const listeners = stack.use(
    await openListeners({
      addresses: [ANY],
      handle,
      log,
      clock: createSystemClock(),
      bind: bindWithNode({
        clock,
        tls: null,
        limits: { ...LISTENER_LIMITS, ...limits },
      }),
      ...changes,
    }),
  );
  const port = listeners.addresses[0]?.port ?? 0;
  return { port, url: `http://127.0.0.1:${port}`, log };
}

/** A connection that is read to its end unless told otherwise. */
class Wire implements AsyncDisposable {
  text = "";
  readonly ended: Promise<void>;
  /** Resolves with the first bytes that come. */
  readonly answered: Promise<void>;
  readonly #socket: Socket;

  constructor(port: number, first: string) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    const answered = Promise.withResolvers<void>();
    this.answered = answered.promise;
    this.#socket = connect(port, "127.0.0.1", () => this.send(first));
    this.#socket.on("data", (bytes) => {
      this.text += bytes.toString();
      answered.resolve();
    });
    // Being cut off is what these tests are about.
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => resolve());
  }

  send(text: string): void {
    this.#socket.write(text);
  }

  pause(): void {
    this.#socket.pause();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    await this.ended;
  }
}

const HELLO: HandleRequest = () => Promise.resolve(new Response("hi"));

Deno.test("bindWithNode serves the whole API as the runtime's own server does", async () => {
  await using stack = new AsyncDisposableStack();
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: CHAT_ANSWER });
  const { url } = await open(stack, api.handle);
  const listed = await fetch(`${url}/v1/models?x=1`);
  assert.equal(listed.status, 200);
  assert.equal(listed.headers.get("content-type"), "application/json");
  await listed.body?.cancel();
  const answered = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify(CHAT),
  });
  assert.equal(answered.status, 200);
  assert.equal((await answered.json()).choices[0].message.content, "hi");
  const head = await fetch(`${url}/v1/models`, { method: "HEAD" });
  assert.equal(head.status, 200);
  assert.equal(await head.text(), "");
  const refused = await fetch(`${url}/covey/keys/x`, { method: "PUT" });
  assert.equal(refused.status, 404);
  await refused.body?.cancel();
});

Deno.test("bindWithNode hands bodies over in both directions unchanged, and both ends of the connection", async () => {
  await using stack = new AsyncDisposableStack();
  const seen: unknown[] = [];
  const { url, port } = await open(stack, async (request, info) => {
    seen.push(info.remoteHost, info.localHost, info.localPort);
    return new Response(await request.bytes());
  });
  const bytes = new Uint8Array(3_000_000).map((_, at) => at % 251);
  const response = await fetch(url, { method: "POST", body: bytes });
  assert.deepEqual(await response.bytes(), bytes);
  assert.deepEqual(seen, ["127.0.0.1", "127.0.0.1", port]);
});

Deno.test("slow heads, slow bodies and silent connections are cut off while others are served", async () => {
  await using stack = new AsyncDisposableStack();
  let broke = 0;
  const { port, url } = await open(stack, async (request) => {
    await request.bytes().catch(() => broke++);
    return new Response("hi");
  }, { headersMs: 300, requestMs: 600, checkEveryMs: 50 });
  const slow = [
    "",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nabc",
  ].map((text) => stack.use(new Wire(port, text)));
  assert.equal(await (await fetch(url)).text(), "hi");
  await Promise.all(slow.map((wire) => wire.ended));
  for (const wire of slow) assert.doesNotMatch(wire.text, /200 OK/);
  assert.equal(broke, 1);
  assert.equal(await (await fetch(url)).text(), "hi");
});

Deno.test("a head beyond its limit, and what is no HTTP, end the connection alone", async () => {
  await using stack = new AsyncDisposableStack();
  const { port, url } = await open(stack, HELLO);
  const fits = stack.use(
    new Wire(
      port,
      `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ${
        "y".repeat(60_000)
      }\r\n\r\n`,
    ),
  );
  await fits.ended;
  assert.match(fits.text, /^HTTP\/1\.1 200/);
  // A client that still sends when the connection ends may not get to read why.
  const long = `GET / HTTP/1.1\r\nHost: x\r\nX: ${"y".repeat(70_000)}\r\n\r\n`;
  const refused = /^HTTP\/1\.1 400 [^\r]*\r\n.*\r\n\r\n$/s;
  for (
    const [text, answer] of [
      [long, /^(?:HTTP\/1\.1 431 .*)?$/s],
      ["\x16\x03\x01\x02\x00\x01\x00", refused],
      ["NONSENSE\r\n\r\n", refused],
      ["GET /v1/models/\u00e9 HTTP/1.1\r\nHost: x\r\n\r\n", refused],
      [
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        refused,
      ],
    ] as const
  ) {
    await using wire = new Wire(port, text);
    await wire.ended;
    assert.match(wire.text, answer);
  }
  assert.equal(await (await fetch(url)).text(), "hi");
});

Deno.test("what is no HTTP behind a request ends the connection and puts no word into the answer", async () => {
  await using stack = new AsyncDisposableStack();
  const asked = Promise.withResolvers<void>();
  const { port } = await open(stack, async (_request, { left }) => {
    asked.resolve();
    await new Promise((resolve) => left?.addEventListener("abort", resolve));
    return new Response("hi");
  });
  await using wire = new Wire(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await asked.promise;
  wire.send("NONSENSE\r\n\r\n");
  await wire.ended;
  assert.equal(wire.text, "");
});

Deno.test("connections of one address, and of all together, are limited, and free again once closed", async () => {
  for (
    const limits of [
      { connectionsPerAddress: 3 },
      { connections: 3, connectionsPerAddress: 9 },
    ]
  ) {
    await using stack = new AsyncDisposableStack();
    const { port } = await open(stack, HELLO, limits);
    const ask = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const held = [new Wire(port, ask), new Wire(port, ask), new Wire(port, ask)]
      .map((wire) => stack.use(wire));
    await using more = new Wire(port, ask);
    await more.ended;
    assert.equal(more.text, "");
    for (const wire of held) await wire[Symbol.asyncDispose]();
    // The server may hear of the end a moment after the client.
    for (let text = ""; !text.startsWith("HTTP/1.1 200");) {
      await using again = new Wire(
        port,
        ask.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
      );
      await again.ended;
      text = again.text;
    }
  }
});

Deno.test("a reader that takes nothing holds the answer back, and is cut off when its time is up", async () => {
  await using stack = new AsyncDisposableStack();
  const clock = new ManualClock();
  let sent = 0;
  const cancelled = Promise.withResolvers<void>();
  const full = Promise.withResolvers<void>();
  const { port } = await open(
    stack,
    () =>
      Promise.resolve(
        new Response(
          new ReadableStream({
            pull(controller) {
              sent++;
              controller.enqueue(new Uint8Array(1_000_000));
              if (sent === 3) full.resolve();
            },
            cancel: () => cancelled.resolve(),
          }),
        ),
      ),
    { stalledMs: 5000 },
    clock,
  );
  const wire = stack.use(new Wire(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  wire.pause();
  await full.promise;
  // However long its time is, it runs only while nothing is taken.
  for (let done = false; !done;) {
    await clock.advance(5000);
    done = await Promise.race([
      cancelled.promise.then(() => true),
      new Promise<boolean>((resolve) => queueMicrotask(() => resolve(false))),
    ]);
  }
  await cancelled.promise;
  assert.ok(sent < 50, `${sent} MB were read for a client that takes none`);
});

Deno.test("a client that leaves aborts the request before its answer, and the body after", async () => {
  await using stack = new AsyncDisposableStack();
  const came = Promise.withResolvers<AbortSignal>();
  const cancelled = Promise.withResolvers<void>();
  const { port } = await open(stack, async (request, info) => {
    if (new URL(request.url).pathname === "/stream") {
      return new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new Uint8Array(1)),
          cancel: () => cancelled.resolve(),
        }),
      );
    }
    const left = info.left ?? request.signal;
    came.resolve(left);
    await new Promise<void>((resolve) =>
      left.addEventListener("abort", () => resolve())
    );
    return new Response("late");
  });
  {
    await using _wire = new Wire(port, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    assert.equal((await came.promise).aborted, false);
  }
  const left = await came.promise;
  if (!left.aborted) {
    await new Promise<void>((resolve) =>
      left.addEventListener("abort", () => resolve())
    );
  }
  {
    await using wire = new Wire(
      port,
      "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n",
    );
    await wire.answered;
  }
  await cancelled.promise;
});

Deno.test("who is answered before his body was read gets the answer and no second turn", async () => {
  await using stack = new AsyncDisposableStack();
  const { api } = apiUnderTest({ bodyLimitBytes: 1000 });
  const { port } = await open(stack, api.handle);
  await using wire = new Wire(
    port,
    "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
      "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{",
  );
  await wire.ended;
  assert.match(wire.text, /^HTTP\/1\.1 413/);
  assert.match(wire.text, /connection: close/i);
});

Deno.test("a name that the caller made up is refused whatever form the request has", async () => {
  await using stack = new AsyncDisposableStack();
  const { api } = apiUnderTest();
  const { port } = await open(stack, api.handle);
  for (
    const head of [
      "GET /v1/models HTTP/1.1\r\nHost: evil.example",
      "GET http://127.0.0.1/v1/models HTTP/1.1\r\nHost: evil.example",
      "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example",
      "GET * HTTP/1.1\r\nHost: 127.0.0.1",
      "GET //evil.example/v1/models HTTP/1.1\r\nHost: evil.example",
    ]
  ) {
    await using wire = new Wire(port, `${head}\r\nConnection: close\r\n\r\n`);
    await wire.ended;
    assert.match(wire.text, /^(?:HTTP\/1\.1 40[03]|$)/, head);
  }
});

Deno.test("a bounded listener lets requests end when it is disposed of, and names a taken port", async () => {
  const go = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const stack = new AsyncDisposableStack();
  const { port, url } = await open(stack, async () => {
    began.resolve();
    await go.promise;
    return new Response("done");
  });
  await assert.rejects(
    openListeners({
      addresses: [{ host: "127.0.0.1", port }],
      handle: HELLO,
      log: new QuietLog(),
      clock: createSystemClock(),
      bind: bindWithNode({ clock: createSystemClock(), tls: null }),
    }),
    /port is in use/,
  );
  const running = fetch(url);
  await began.promise;
  const closed = stack.disposeAsync();
  const refused = await fetch(url);
  assert.equal(refused.status, 503);
  await refused.body?.cancel();
  go.resolve();
  assert.equal(await (await running).text(), "done");
  await closed;
});

Deno.test("a bounded listener ends what runs beyond the grace, and its clients' connections", async () => {
  const stack = new AsyncDisposableStack();
  const began = Promise.withResolvers<AbortSignal>();
  const { port } = await open(
    stack,
    async (_request, info) => {
      const { left } = info;
      assert.ok(left !== undefined);
      began.resolve(left);
      await new Promise<void>((resolve) =>
        left.addEventListener("abort", () => resolve())
      );
      return new Response("late");
    },
    {},
    createSystemClock(),
    { graceMs: 20 },
  );
  await using wire = new Wire(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await using idle = new Wire(port, "");
  const left = await began.promise;
  await stack.disposeAsync();
  assert.equal(left.aborted, true);
  await Promise.all([wire.ended, idle.ended]);
  assert.equal(wire.text, "");
});

Deno.test({
  name:
    "over TLS, a handshake that fails or never comes holds no connection, and others are served",
  ignore: !hasOpenssl(),
  async fn() {
    await using stack = new AsyncDisposableStack();
    const tls = await makeCertificate();
    const clock = createSystemClock();
    const { port } = await open(stack, HELLO, {}, clock, {
      bind: bindWithNode({
        clock,
        tls,
        limits: { ...LISTENER_LIMITS, headersMs: 300, checkEveryMs: 50 },
      }),
    });
    const bad = ["", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01"]
      .map((text) => stack.use(new Wire(port, text)));
    using client = Deno.createHttpClient({ caCerts: [tls.certificatePem] });
    const url = `https://localhost:${port}`;
    assert.equal(await (await fetch(url, { client })).text(), "hi");
    await Promise.all(bad.map((wire) => wire.ended));
    for (const wire of bad) assert.doesNotMatch(wire.text, /200 OK/);
    // The one whose handshake was done is still there.
    assert.equal(await (await fetch(url, { client })).text(), "hi");
  },
});
