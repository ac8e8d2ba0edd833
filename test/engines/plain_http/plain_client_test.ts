import assert from "node:assert/strict";
import type {
  HttpClient,
  HttpReply,
} from "../../../src/engines/http_client.ts";
import { createPlainClient } from "../../../src/engines/plain_http/plain_client.ts";
import { ManualClock } from "../../../src/platform/mod.ts";
import { memoryDial, MemorySocket } from "../../fakes/memory_socket.ts";

const never = new AbortController().signal;
const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
const CALL = { path: "/v1/x", headers: { a: "b" }, body: "{}" };

/** A client whose connections are the test's. */
function setUp() {
  const clock = new ManualClock();
  const { dial, sockets } = memoryDial();
  const client = createPlainClient({ dial, host: "engine:1", clock });
  return { clock, sockets, client };
}

/** Let everything run that waits for nothing from outside. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

async function textOf({ body }: HttpReply): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const piece = await body.read();
    if (piece === undefined) return text;
    text += decoder.decode(piece, { stream: true });
  }
}

/** Ask, and have the newest connection, or the one given, answer. */
async function exchange(
  client: HttpClient,
  sockets: readonly MemorySocket[],
  answer: string = OK,
  on?: number,
): Promise<string> {
  const asking = client.post(CALL, never);
  await settle();
  sockets.at(on ?? -1)?.say(answer);
  return await textOf(await asking);
}

Deno.test("PlainClient writes a whole request and reads status, fields and body", async () => {
  const { client, sockets } = setUp();
  using _ = client;
  const asking = client.post({ ...CALL, body: '{"é":1}' }, never);
  await settle();
  assert.equal(
    sockets[0]?.written,
    'POST /v1/x HTTP/1.1\r\nhost: engine:1\r\naccept-encoding: identity\r\ncontent-length: 8\r\na: b\r\n\r\n{"é":1}',
  );
  sockets[0]?.say("HTTP/1.1 429 Slow\r\nRetry-After: 7\r\n");
  sockets[0]?.say("content-length: 4\r\n\r\nno");
  const reply = await asking;
  assert.equal(reply.status, 429);
  assert.equal(reply.headers.get("retry-after"), "7");
  assert.equal(reply.headers.get("x"), null);
  sockets[0]?.say("pe");
  assert.equal(await textOf(reply), "nope");
});

Deno.test("PlainClient refuses a header that would end its line, and writes nothing", async () => {
  const { client, sockets } = setUp();
  using _ = client;
  for (const value of ["a\r\nb: c", "é"]) {
    await assert.rejects(
      client.post({ ...CALL, headers: { x: value } }, never),
      /"x" has a value that is not ASCII/,
    );
  }
  assert.equal(sockets.length, 0);
});

Deno.test("PlainClient keeps a connection for the next request, for 4 s or less where its server says so", async () => {
  const { client, clock, sockets } = setUp();
  using _ = client;
  await exchange(client, sockets);
  await exchange(client, sockets);
  assert.equal(sockets.length, 1);
  await clock.advance(3_000);
  await exchange(client, sockets);
  assert.equal(sockets.length, 1);
  await clock.advance(4_000);
  assert(sockets[0]?.isClosed);
  const hint = (seconds: number) =>
    `HTTP/1.1 200 OK\r\nkeep-alive: timeout=${seconds}, max=9\r\ncontent-length: 0\r\n\r\n`;
  await exchange(client, sockets, hint(3));
  assert.equal(sockets.length, 2);
  await clock.advance(1_999);
  assert(!sockets[1]?.isClosed);
  await clock.advance(1);
  assert(sockets[1]?.isClosed);
  await exchange(client, sockets, hint(1));
  assert(sockets[2]?.isClosed);
});

Deno.test("PlainClient closes a connection whose server ends it, or whose answer has no other end", async () => {
  const { client, sockets } = setUp();
  using _ = client;
  for (
    const answer of [
      "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi",
      "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
      `${OK}HTTP/1.1 200 OK\r\n`,
    ]
  ) {
    assert.equal(await exchange(client, sockets, answer), "hi");
    assert(sockets.at(-1)?.isClosed, answer);
  }
  const asking = exchange(client, sockets, "HTTP/1.1 200 OK\r\n\r\nuntil");
  await settle();
  sockets.at(-1)?.say(" the end");
  sockets.at(-1)?.end();
  assert.equal(await asking, "until the end");
  assert(sockets.at(-1)?.isClosed);
  assert.equal(sockets.length, 4);
});

Deno.test("PlainClient asks nothing of a connection that ended or spoke while it rested", async () => {
  const { client, sockets } = setUp();
  using _ = client;
  await exchange(client, sockets);
  sockets[0]?.end();
  await settle();
  assert(sockets[0]?.isClosed);
  await exchange(client, sockets);
  assert.equal(sockets.length, 2);
  sockets[1]?.say("HTTP/1.1 408 Request Timeout\r\n\r\n");
  await settle();
  assert(sockets[1]?.isClosed);
  assert.equal(await exchange(client, sockets), "hi");
  assert.equal(sockets.length, 3);
});

Deno.test("PlainClient sends a request again only where a kept connection had not taken all of it", async () => {
  const unsent = setUp();
  using _unsent = unsent.client;
  await exchange(unsent.client, unsent.sockets);
  const [kept] = unsent.sockets;
  assert(kept !== undefined);
  // Half of it goes out before the server is seen to be gone.
  kept.takes = 40;
  const asking = unsent.client.post(CALL, never);
  await settle();
  kept.breakWrites();
  kept.end();
  await settle();
  unsent.sockets[1]?.say(OK);
  assert.equal(await textOf(await asking), "hi");
  assert.equal(unsent.sockets.length, 2);

  // All of it was taken: whoever took it may have begun to compute.
  const sent = setUp();
  using _sent = sent.client;
  await exchange(sent.client, sent.sockets);
  const lost = sent.client.post(CALL, never);
  await settle();
  sent.sockets[0]?.end();
  await assert.rejects(lost, /ended before an answer began/);
  assert.equal(sent.sockets.length, 1);

  // A connection that was not kept tells of a server that is ill, not of a stale one.
  const fresh = setUp();
  using _fresh = fresh.client;
  const refused = fresh.client.post(CALL, never);
  await Promise.resolve();
  fresh.sockets[0]?.breakWrites();
  fresh.sockets[0]?.end();
  await assert.rejects(refused);
  assert.equal(fresh.sockets.length, 1);

  // The beginning of an answer is an answer.
  const begun = setUp();
  using _begun = begun.client;
  await exchange(begun.client, begun.sockets);
  if (begun.sockets[0] !== undefined) begun.sockets[0].takes = 10;
  const cut = begun.client.post(CALL, never);
  await settle();
  begun.sockets[0]?.say("HTTP/1.1 5");
  begun.sockets[0]?.breakWrites();
  begun.sockets[0]?.end();
  await assert.rejects(cut, /ended in an answer's head/);
  assert.equal(begun.sockets.length, 1);
});

Deno.test("PlainClient takes an answer that comes before its request was taken, and then lets the connection go", async () => {
  const { client, sockets } = setUp();
  using _ = client;
  await exchange(client, sockets);
  const [socket] = sockets;
  assert(socket !== undefined);
  socket.takes = 20;
  const asking = client.post({ ...CALL, body: "x".repeat(1000) }, never);
  await settle();
  socket.say("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno");
  const reply = await asking;
  assert.equal(reply.status, 413);
  assert.equal(await textOf(reply), "no");
  assert(socket.isClosed);
});

Deno.test("PlainClient closes the connection when the signal aborts, wherever the call is", async () => {
  const reason = new Error("left");
  for (const stage of ["writing", "before the head", "in the head"]) {
    const { client, sockets } = setUp();
    using _ = client;
    await exchange(client, sockets);
    const [socket] = sockets;
    assert(socket !== undefined);
    if (stage === "writing") socket.takes = 5;
    const left = new AbortController();
    const asking = client.post(CALL, left.signal);
    await settle();
    if (stage === "in the head") socket.say("HTTP/1.1 200");
    await settle();
    left.abort(reason);
    await assert.rejects(asking, (error) => error === reason, stage);
    assert(socket.isClosed, stage);
    assert.equal(sockets.length, 1, stage);
  }
  for (const waits of [true, false]) {
    const { client, sockets } = setUp();
    using _ = client;
    const left = new AbortController();
    const asking = client.post(CALL, left.signal);
    await settle();
    sockets[0]?.say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n");
    const { body } = await asking;
    const reading = waits ? body.read() : null;
    reading?.catch(() => {});
    left.abort(reason);
    assert(sockets[0]?.isClosed);
    await assert.rejects(reading ?? body.read(), (error) => error === reason);
  }
});

Deno.test("PlainClient closes a connection that stands only after its caller has left", async () => {
  const dialled = Promise.withResolvers<MemorySocket>();
  using client = createPlainClient({
    dial: () => dialled.promise,
    host: "h",
    clock: new ManualClock(),
  });
  const left = new AbortController();
  const asking = client.post(CALL, left.signal);
  await settle();
  left.abort(new Error("left"));
  await assert.rejects(asking, /left/);
  const socket = new MemorySocket();
  dialled.resolve(socket);
  await settle();
  assert(socket.isClosed);
  assert.equal(socket.written, "");
});

Deno.test("PlainClient waits 3 s for a connection, and closes one that stands later (RTE-06)", async () => {
  const clock = new ManualClock();
  const socket = new MemorySocket();
  const late = Promise.withResolvers<MemorySocket>();
  using client = createPlainClient({
    dial: () => late.promise,
    host: "engine:1",
    clock,
  });
  const outcome = client.post(CALL, never).catch((error) => error.name);
  await clock.advance(2_999);
  assert.equal(clock.pending, 1);
  await clock.advance(1);
  assert.equal(await outcome, "UnreachableError");
  late.resolve(socket);
  await settle();
  assert.equal(socket.isClosed, true);
  assert.equal(clock.pending, 0);
});

Deno.test("PlainClient lets the signal go with the last byte: aborting it later ends no rest", async () => {
  const { client, sockets } = setUp();
  using _ = client;
  const caller = new AbortController();
  const asking = client.post(CALL, caller.signal);
  await settle();
  sockets[0]?.say(OK);
  const reply = await asking;
  assert.equal(reply.body.isOver, false);
  assert.equal((await reply.body.read())?.length, 2);
  assert.equal(reply.body.isOver, true);
  caller.abort();
  assert(!sockets[0]?.isClosed);
  assert.equal(await reply.body.read(), undefined);
});

Deno.test("PlainClient reads no further than it is read", async () => {
  const { client, sockets } = setUp();
  using _ = client;
  const asking = client.post(CALL, never);
  await settle();
  const [socket] = sockets;
  socket?.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  const { body } = await asking;
  for (const word of ["1\r\na\r\n", "1\r\nb\r\n", "0\r\n\r\n"]) {
    socket?.say(word);
  }
  await settle();
  assert.equal(socket?.reads, 1);
  assert.deepEqual(await body.read(), new TextEncoder().encode("a"));
  await settle();
  assert.equal(socket?.reads, 2);
  await body.cancel(null);
  assert(socket?.isClosed);
});

Deno.test("PlainClient keeps 64 idle connections at most, and closes all of them when it is disposed of", async () => {
  const { client, sockets } = setUp();
  const asking = Array.from({ length: 70 }, () => client.post(CALL, never));
  await settle();
  assert.equal(sockets.length, 70);
  for (const socket of sockets) socket.say(OK);
  for (const one of asking) await textOf(await one);
  assert.equal(sockets.filter(({ isClosed }) => isClosed).length, 6);
  const running = client.post(CALL, never);
  await settle();
  client[Symbol.dispose]();
  assert(sockets.every(({ isClosed }) => isClosed));
  await assert.rejects(running);
  await assert.rejects(client.post(CALL, never), /The client is closed/);
  assert(sockets.every(({ isClosed }) => isClosed));
});

Deno.test("PlainClient unpacks what came packed unasked, and names what it can not unpack", async () => {
  const { client, sockets } = setUp();
  using _ = client;
  const zipped = new Uint8Array(
    await new Response(
      new Blob(["hello"]).stream().pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer(),
  );
  const asking = client.post(CALL, never);
  await settle();
  sockets[0]?.say(
    `HTTP/1.1 200 OK\r\ncontent-encoding: GZIP\r\ncontent-length: ${zipped.length}\r\n\r\n`,
  );
  sockets[0]?.say(zipped);
  assert.equal(await textOf(await asking), "hello");
  const strange = client.post(CALL, never);
  await settle();
  sockets.at(-1)?.say(
    "HTTP/1.1 200 OK\r\ncontent-encoding: zstd\r\ncontent-length: 9\r\n\r\n",
  );
  await assert.rejects(strange, /packed as "zstd"/);
  assert(sockets.at(-1)?.isClosed);
});
