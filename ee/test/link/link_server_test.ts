import assert from "node:assert/strict";
import { request } from "node:https";
import { connect as connectTcp } from "node:net";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { Fault } from "@covey/core/domain";
import { createSystemClock, ManualClock } from "@covey/core/platform";
import { LinkError } from "../../src/link/link_error.ts";
import { ADMISSION_PATH, STATUS_PATH } from "../../src/link/link_server.ts";
import { MemberChannel } from "../../src/link/member_channel.ts";
import {
  attemptFrom,
  type LinkFixture,
  makeIdentity,
  nodeIdOf,
  openLink,
} from "./link_fixture.ts";
import { encodeAttempt } from "../../src/link/attempt_wire.ts";

const own = await makeIdentity(1);
const member = await makeIdentity(2);
const stranger = await makeIdentity(3);

interface Reply {
  readonly status: number;
  readonly text: string;
}

async function ask(
  channel: MemberChannel,
  path: string,
  body?: Uint8Array,
): Promise<Reply> {
  const exchange = await channel.request({
    method: body === undefined ? "GET" : "POST",
    path,
    ...(body === undefined ? {} : { body }),
    headLimitMs: 4000,
    signal: new AbortController().signal,
  });
  const bytes = await exchange.readAll(65536, 4000);
  return { status: exchange.status, text: new TextDecoder().decode(bytes) };
}

/** Talk HTTP by hand over one TLS connection. */
async function openRaw(
  link: LinkFixture,
  options: ConnectionOptions,
): Promise<TLSSocket> {
  const socket = connect({
    host: "127.0.0.1",
    port: link.server.port,
    rejectUnauthorized: false,
    ...options,
  });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}

async function askRaw(socket: TLSSocket, lines: string): Promise<number> {
  socket.write(lines);
  let text = "";
  for (;;) {
    const [piece] = await Promise.race([
      once(socket, "data"),
      once(socket, "close").then(() => [null]),
    ]);
    if (piece === null) break;
    text += Buffer.from(piece).toString("latin1");
    if (text.includes("\r\n\r\n")) break;
  }
  return Number(text.split(" ", 2)[1] ?? 0);
}

async function hasOpenssl(): Promise<boolean> {
  try {
    await new Deno.Command("openssl", { args: ["version"], stdout: "null" })
      .output();
    return true;
  } catch {
    return false;
  }
}

/** Ask for the status through openssl, which truly resumes sessions. */
async function sClient(
  link: LinkFixture,
  args: readonly string[],
): Promise<string> {
  const child = new Deno.Command("openssl", {
    args: [
      ...["s_client", "-connect", `127.0.0.1:${link.server.port}`],
      ...["-ign_eof", ...args],
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(
    `GET ${STATUS_PATH} HTTP/1.1\r\nhost: x\r\n\r\n`,
  ));
  await writer.close();
  const { stdout } = await child.output();
  return new TextDecoder().decode(stdout);
}

function pem(who: { certificatePem: string; privateKeyPem: string }) {
  return { cert: who.certificatePem, key: who.privateKeyPem };
}

Deno.test("LinkServer says which port it can not have in words for whoever asked", async () => {
  using holder = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = holder.addr as Deno.NetAddr;
  await assert.rejects(
    openLink(own, undefined, undefined, port),
    (fault) =>
      fault instanceof Fault && fault.code === "conflict" &&
      fault.message.includes(`127.0.0.1:${port}`) &&
      fault.message.includes("COVEY_LINK_PORT"),
  );
});

Deno.test("LinkServer answers a member's status and not a stranger's", async () => {
  await using link = await openLink(own);
  link.members.set(member.keyHash, member.id);
  assert.deepEqual(await ask(link.channel(member), STATUS_PATH), {
    status: 200,
    text: '{"v":1}',
  });
  const refused = await ask(link.channel(stranger), STATUS_PATH);
  assert.equal(refused.status, 403);
});

Deno.test("LinkServer refuses a connection without a certificate", async () => {
  await using link = await openLink(own);
  const socket = await openRaw(link, {});
  const status = await askRaw(
    socket,
    `GET ${STATUS_PATH} HTTP/1.1\r\nhost: x\r\n\r\n`,
  );
  socket.destroy();
  assert.equal(status, 401);
});

Deno.test("LinkServer lets a stranger reach the admission desk and nothing else", async () => {
  await using link = await openLink(own);
  const channel = link.channel(stranger);
  const body = new TextEncoder().encode("hello");
  assert.deepEqual(await ask(channel, ADMISSION_PATH, body), {
    status: 200,
    text: "desk",
  });
  assert.deepEqual(link.admissions.map((bytes) => bytes.length), [5]);
  for (const path of ["/covey/1/attempts/e", "/", "/covey/1/status/../x"]) {
    assert.equal((await ask(channel, path, body)).status, 403, path);
  }
});

Deno.test("LinkServer refuses an admission body over its limit", async () => {
  await using link = await openLink(own);
  const channel = link.channel(stranger);
  const outcome = await ask(channel, ADMISSION_PATH, new Uint8Array(4096))
    .then(({ status }) => status, () => "closed");
  assert.ok(outcome === 413 || outcome === "closed", String(outcome));
  assert.deepEqual(link.admissions, []);
});

Deno.test("LinkServer refuses a member removed in the middle of a connection", async () => {
  await using link = await openLink(own);
  link.members.set(member.keyHash, member.id);
  const socket = await openRaw(link, pem(member));
  const lines = `GET ${STATUS_PATH} HTTP/1.1\r\nhost: x\r\n\r\n`;
  assert.equal(await askRaw(socket, lines), 200);
  link.members.delete(member.keyHash);
  assert.equal(await askRaw(socket, lines), 403);
  await once(socket, "close");
});

Deno.test("LinkServer.expel closes the connections of that key alone", async () => {
  await using link = await openLink(own);
  link.members.set(member.keyHash, member.id);
  link.members.set(stranger.keyHash, stranger.id);
  const lines = `GET ${STATUS_PATH} HTTP/1.1\r\nhost: x\r\n\r\n`;
  const removed = await openRaw(link, pem(member));
  const kept = await openRaw(link, pem(stranger));
  await askRaw(removed, lines);
  await askRaw(kept, lines);
  link.server.expel(member.keyHash);
  await once(removed, "close");
  assert.equal(await askRaw(kept, lines), 200);
  kept.destroy();
});

Deno.test({
  name:
    "LinkServer refuses a stranger who resumes a session, whatever TLS calls authorized (needs openssl)",
  ignore: !await hasOpenssl(),
  async fn() {
    await using link = await openLink(own);
    const folder = await Deno.makeTempDir();
    try {
      const session = `${folder}/session`;
      await Deno.writeTextFile(`${folder}/cert`, stranger.certificatePem);
      await Deno.writeTextFile(`${folder}/key`, stranger.privateKeyPem);
      const first = await sClient(link, [
        ...["-cert", `${folder}/cert`, "-key", `${folder}/key`],
        ...["-sess_out", session],
      ]);
      assert.match(first, /HTTP\/1\.1 403/);
      // Without certificate or key: the session alone.
      const again = await sClient(link, ["-sess_in", session]);
      assert.match(again, /Reused, TLSv1\.3/);
      assert.match(again, /HTTP\/1\.1 40[13]/);
      assert.doesNotMatch(again, /HTTP\/1\.1 200/);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test("LinkServer refuses TLS 1.2", async () => {
  await using link = await openLink(own);
  await assert.rejects(
    openRaw(link, {
      ...pem(member),
      minVersion: "TLSv1.2",
      maxVersion: "TLSv1.2",
    }),
  );
});

Deno.test("MemberChannel sends nothing to a server that shows another key", async () => {
  await using link = await openLink(own);
  link.members.set(member.keyHash, member.id);
  const channel = link.channel(member, undefined, stranger.keyHash);
  await assert.rejects(
    ask(channel, STATUS_PATH),
    (error) => error instanceof LinkError && error.problem === "identity",
  );
});

Deno.test("MemberChannel keeps one connection and frees it after 60 s of idling", async () => {
  await using link = await openLink(own);
  link.members.set(member.keyHash, member.id);
  const clock = new ManualClock();
  let connections = 0;
  using channel = new MemberChannel({
    keyHash: own.keyHash,
    addresses: () => [{ host: "127.0.0.1", port: link.server.port }],
    credentials: member,
    clock,
    onConnected: () => connections++,
  });
  for (let n = 0; n < 15; n++) await ask(channel, STATUS_PATH);
  assert.equal(connections, 1);
  await clock.advance(59_000);
  await ask(channel, STATUS_PATH);
  assert.equal(connections, 1);
  await clock.advance(60_000);
  await ask(channel, STATUS_PATH);
  assert.equal(connections, 2);
});

Deno.test("MemberChannel says refused when nobody listens", async () => {
  const link = await openLink(own);
  const { port } = link.server;
  await link[Symbol.asyncDispose]();
  using channel = new MemberChannel({
    keyHash: own.keyHash,
    addresses: () => [
      { host: "127.0.0.1", port },
      { host: "127.0.0.2", port },
    ],
    credentials: member,
    clock: createSystemClock(),
  });
  await assert.rejects(
    ask(channel, STATUS_PATH),
    (error) => error instanceof LinkError && error.problem === "refused",
  );
});

Deno.test("LinkServer answers 400 to an attempt that is none and to another entry's", async () => {
  await using link = await openLink(own);
  link.members.set(member.keyHash, member.id);
  const channel = link.channel(member);
  const path = "/covey/1/attempts/e";
  const bodies = [
    new TextEncoder().encode("{"),
    new TextEncoder().encode("[".repeat(100_000)),
    new TextEncoder().encode('{"id":1}'),
    new Uint8Array([0xff, 0xfe, 0x00]),
    encodeAttempt(attemptFrom(member.id)).subarray(0, -20),
    encodeAttempt(attemptFrom(nodeIdOf(9))),
  ];
  for (const [index, body] of bodies.entries()) {
    const reply = await ask(channel, path, body);
    assert.equal(reply.status, 400, `body ${index}: ${reply.text}`);
  }
});

Deno.test("LinkServer keeps at most 4 connections of strangers from one address", async () => {
  await using link = await openLink(own);
  const sockets = Array.from(
    { length: 12 },
    () => connectTcp(link.server.port, "127.0.0.1"),
  );
  const closed: number[] = [];
  const eight = Promise.withResolvers<void>();
  for (const socket of sockets) {
    socket.on("error", () => {});
    socket.once("close", () => {
      closed.push(1);
      if (closed.length === 8) eight.resolve();
    });
  }
  await eight.promise;
  assert.equal(link.server.strangers, 4);
  for (const socket of sockets) socket.destroy();
});

Deno.test("LinkServer closes on header garbage and lives on", async () => {
  await using link = await openLink(own);
  link.members.set(member.keyHash, member.id);
  for (
    const garbage of [
      "\0\0\0\0\r\n\r\n",
      `GET / HTTP/1.1\r\nhost: x\r\na: ${"b".repeat(20_000)}\r\n\r\n`,
    ]
  ) {
    const socket = await openRaw(link, pem(member));
    const status = await askRaw(socket, garbage);
    assert.ok(status === 0 || status >= 400, String(status));
    socket.destroy();
  }
  assert.equal((await ask(link.channel(member), STATUS_PATH)).status, 200);
});

Deno.test("LinkServer sees no member in a connection whose certificate is another's without its key", async () => {
  await using link = await openLink(own);
  link.members.set(member.keyHash, member.id);
  // The member's certificate is public; only its key makes it count.
  const outcome = await new Promise<string>((resolve) => {
    try {
      const outgoing = request({
        host: "127.0.0.1",
        port: link.server.port,
        path: STATUS_PATH,
        rejectUnauthorized: false,
        agent: false,
        cert: member.certificatePem,
        key: stranger.privateKeyPem,
      }, (response) => {
        response.resume();
        resolve(String(response.statusCode));
      });
      outgoing.on("error", () => resolve("failed"));
      outgoing.end();
    } catch {
      resolve("failed");
    }
  });
  assert.notEqual(outcome, "200");
});

Deno.test("MemberChannel says at once when the member ends a connection that idles, and not when it does so itself", async () => {
  const link = await openLink(own);
  link.members.set(member.keyHash, member.id);
  const clock = new ManualClock();
  const dropped = Promise.withResolvers<void>();
  let drops = 0;
  using channel = new MemberChannel({
    keyHash: own.keyHash,
    addresses: () => [{ host: "127.0.0.1", port: link.server.port }],
    credentials: member,
    clock,
    onDropped() {
      drops++;
      dropped.resolve();
    },
  });
  await ask(channel, STATUS_PATH);
  await clock.advance(60_000);
  await ask(channel, STATUS_PATH);
  assert.equal(drops, 0);
  await link[Symbol.asyncDispose]();
  await dropped.promise;
  assert.equal(drops, 1);
});
