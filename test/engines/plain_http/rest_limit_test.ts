import assert from "node:assert/strict";
import { createPlainClient } from "../../../src/engines/plain_http/plain_client.ts";
import { RestLimit } from "../../../src/engines/plain_http/rest_limit.ts";
import { ManualClock } from "../../../src/platform/mod.ts";
import { memoryDial } from "../../fakes/memory_socket.ts";

const MINUTE_MS = 60_000;

Deno.test("RestLimit halves the shortest rest that a server ended, and doubles it again each minute", () => {
  const limit = new RestLimit();
  assert.equal(limit.at(0), 4_000);
  limit.learn(2_000, 100);
  assert.equal(limit.at(100), 1_000);
  limit.learn(3_000, 200);
  assert.equal(limit.at(200), 1_000);
  limit.learn(600, 300);
  assert.equal(limit.at(MINUTE_MS + 299), 300);
  assert.equal(limit.at(MINUTE_MS + 300), 600);
  assert.equal(limit.at(100 * MINUTE_MS), 4_000);
});

Deno.test("RestLimit keeps nothing where a server ends what has hardly rested, and tries again later", () => {
  const limit = new RestLimit();
  limit.learn(5, 0);
  assert.equal(limit.at(MINUTE_MS - 1), 0);
  assert.equal(limit.at(MINUTE_MS), 20);
});

/** A client that has had one answer, on a connection that rests now. */
async function rested() {
  const clock = new ManualClock();
  const { dial, sockets } = memoryDial();
  const client = createPlainClient({ dial, host: "engine:1", clock });
  const post = async () => {
    const asking = client.post(
      { path: "/", headers: {}, body: "{}" },
      new AbortController().signal,
    );
    asking.catch(() => {});
    await settle();
    return asking;
  };
  const ask = async () => {
    const asking = post();
    await settle();
    sockets.at(-1)?.say("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    await asking;
  };
  await ask();
  return { ask, client, clock, post, sockets };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

Deno.test("PlainClient keeps connections for half as long as its server was seen to keep them", async () => {
  const { ask, client, clock, sockets } = await rested();
  using _ = client;
  await clock.advance(2_000);
  sockets[0]?.end();
  await settle();
  await ask();
  await clock.advance(999);
  assert.equal(sockets[1]?.isClosed, false);
  await clock.advance(1);
  assert(sockets[1]?.isClosed);
  // Its own closing taught nothing.
  await ask();
  await clock.advance(999);
  assert.equal(sockets[2]?.isClosed, false);
});

Deno.test("PlainClient keeps connections for less once one was over as it was asked again", async () => {
  const { ask, client, clock, post, sockets } = await rested();
  using _ = client;
  await clock.advance(600);
  const lost = assert.rejects(post(), /ended before an answer began/);
  await settle();
  sockets[0]?.end();
  await lost;
  await ask();
  assert.equal(sockets.length, 2);
  await clock.advance(299);
  assert.equal(sockets[1]?.isClosed, false);
  await clock.advance(1);
  assert(sockets[1]?.isClosed);
});
