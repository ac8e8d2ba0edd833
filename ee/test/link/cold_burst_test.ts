import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { Fault, type StartResult } from "@covey/core/domain";
import { ManualClock } from "@covey/core/platform";
import { callAttempt } from "../../src/link/attempt_call.ts";
import type { LinkSockets } from "../../src/link/link_sockets.ts";
import { MemoryNet } from "../lan/memory_net.ts";
import { attemptFrom, bodyOf, makeIdentity, openLink } from "./link_fixture.ts";

const member = await makeIdentity(1);
const entry = await makeIdentity(2);
const HOST = { address: "10.1.0.1" };
const BURST = 60;
const never = new AbortController().signal;

/** A member in memory to which nobody has a connection yet. */
class ColdMember implements AsyncDisposable {
  readonly clock = new ManualClock(undefined, turn);
  readonly net = new MemoryNet(this.clock, () => true);
  dials = 0;
  mostAtOnce = 0;
  linkFailures = 0;
  readonly #stack = new AsyncDisposableStack();
  #atOnce = 0;

  /** @param answer What the member makes of its attempts. */
  async open(answer: () => Promise<ReadableStream<Uint8Array>>) {
    const sockets = this.#counted(this.net.attach(HOST));
    const link = this.#stack.use(
      await openLink(
        { ...member, sockets } as typeof member,
        () => Promise.resolve(acceptedWith(answer)),
        this.clock,
      ),
    );
    link.members.set(entry.keyHash, entry.id);
    const own = { ...entry, sockets };
    const channel = link.channel(own, this.clock);
    const { clock } = this;
    return {
      channel,
      start: (n: number, signal = never) =>
        callAttempt(
          {
            channel,
            clock,
            nodeName: "peer",
            engine: "sim/1",
            onAccepted: () => {},
            onLinkFailure: () => this.linkFailures++,
          },
          attemptFrom(entry.id, n + 1),
          signal,
        ),
    };
  }

  /** Let handshakes go one after the other, as a loaded machine does them. */
  slowHandshakes(eachMs: number): void {
    let freeAtMs = 0;
    this.net.handshake = (done) => {
      const nowMs = this.clock.monotonic();
      freeAtMs = Math.max(freeAtMs, nowMs) + eachMs;
      this.clock.after(freeAtMs - nowMs, done);
    };
  }

  /** Let no handshake come to its end. */
  dead(): void {
    this.net.handshake = () => {};
  }

  #counted({ connect, createServer }: LinkSockets): LinkSockets {
    return {
      createServer,
      connect: (address, credentials) => {
        const socket = connect(address, credentials);
        this.dials++;
        this.#atOnce++;
        this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
        let isOver = false;
        const over = () => {
          if (!isOver) this.#atOnce--;
          isOver = true;
        };
        socket.once("secureConnect", over);
        socket.once("close", over);
        return socket;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
    await this.clock.advance(10);
  }
}

async function turn(): Promise<void> {
  for (let count = 0; count < 4; count++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

function acceptedWith(
  answer: () => Promise<ReadableStream<Uint8Array>>,
): StartResult {
  return {
    kind: "accepted",
    queue: { slots: 1, runningMs: [], waitingMs: [] },
    answer: async () => ({
      status: 200,
      contentType: "application/json",
      retryAfter: null,
      body: await answer(),
    }),
  };
}

async function readAll(started: StartResult): Promise<void> {
  assert.equal(started.kind, "accepted");
  if (started.kind !== "accepted") return;
  const { body } = await started.answer();
  await new Response(body as BodyInit).arrayBuffer();
}

/** What became of each of them, counted. */
async function countOf(
  attempts: readonly Promise<StartResult>[],
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const one of await Promise.allSettled(attempts)) {
    const word = one.status === "rejected"
      ? one.reason instanceof Fault ? one.reason.code : String(one.reason)
      : one.value.kind === "refused"
      ? one.value.reason
      : one.value.kind;
    counts[word] = (counts[word] ?? 0) + 1;
  }
  return counts;
}

Deno.test("60 attempts at once reach a member of slow handshakes, though each holds its connection", async () => {
  const held = Promise.withResolvers<ReadableStream<Uint8Array>>();
  await using cold = new ColdMember();
  const { start } = await cold.open(() => held.promise);
  cold.slowHandshakes(50);
  const counted = countOf(Array.from({ length: BURST }, (_, n) => start(n)));
  // All dialled at once, each from the twentieth on would be late.
  await cold.clock.advance(BURST * 50 + 500);
  assert.deepEqual(await counted, { accepted: BURST });
  assert.equal(cold.dials, BURST);
  assert.equal(cold.mostAtOnce, 4);
  assert.equal(cold.linkFailures, 0);
});

Deno.test("attempts that wait for a turn go on with connections that others are done with", async () => {
  await using cold = new ColdMember();
  const { start } = await cold.open(() => Promise.resolve(bodyOf([])));
  cold.slowHandshakes(50);
  const all = Promise.all(
    Array.from({ length: BURST }, (_, n) => start(n).then(readAll)),
  );
  all.catch(() => {});
  await cold.clock.advance(3500);
  await all;
  assert.ok(cold.dials < BURST / 2, `${cold.dials} dials`);
  assert.equal(cold.mostAtOnce, 4);
});

Deno.test("60 attempts at once at a member that is dead fail within the limit of one", async () => {
  await using cold = new ColdMember();
  const { start } = await cold.open(() => Promise.reject(new Error("Dead")));
  cold.dead();
  const counted = countOf(Array.from({ length: BURST }, (_, n) => start(n)));
  await cold.clock.advance(1000);
  assert.deepEqual(await counted, { link_failed: BURST });
  assert.equal(cold.dials, 4);
});

Deno.test("an attempt that finds no connection in time is refused, and the link did not fail", async () => {
  await using cold = new ColdMember();
  const { start } = await cold.open(() => Promise.reject(new Error("Late")));
  // Within a dial's own limit, but the last comes to its turn after 15 s.
  cold.slowHandshakes(249);
  const counted = countOf(Array.from({ length: BURST }, (_, n) => start(n)));
  await cold.clock.advance(11_000);
  const { accepted = 0, queue_full = 0 } = await counted;
  assert.equal(accepted + queue_full, BURST);
  assert.ok(queue_full > 0);
  assert.equal(cold.linkFailures, 0);
});

Deno.test("an attempt that is taken back while it waits for a turn never dials", async () => {
  await using cold = new ColdMember();
  const { start } = await cold.open(() => Promise.reject(new Error("Late")));
  cold.slowHandshakes(50);
  const others = Array.from({ length: 4 }, (_, n) => start(n));
  const leave = new AbortController();
  const taken = start(9, leave.signal);
  leave.abort(new DOMException("Left", "AbortError"));
  await assert.rejects(taken, { name: "AbortError" });
  await cold.clock.advance(1000);
  assert.deepEqual(await countOf(others), { accepted: 4 });
  assert.equal(cold.dials, 4);
  assert.equal(cold.linkFailures, 0);
});

Deno.test("those who wait for a turn hear at once that the member is held to be gone", async () => {
  await using cold = new ColdMember();
  const { channel, start } = await cold.open(() =>
    Promise.reject(new Error("Late"))
  );
  cold.slowHandshakes(200);
  const counted = countOf(Array.from({ length: BURST }, (_, n) => start(n)));
  channel.breakOff("The member is off line");
  assert.deepEqual(await counted, { link_failed: BURST });
});

Deno.test("a status is asked past those who wait for a turn", async () => {
  await using cold = new ColdMember();
  const { channel, start } = await cold.open(() =>
    Promise.reject(new Error("Late"))
  );
  cold.slowHandshakes(50);
  const counted = countOf(Array.from({ length: BURST }, (_, n) => start(n)));
  const status = channel.request({
    method: "GET",
    path: "/covey/1/status",
    headLimitMs: 1000,
    signal: never,
  });
  await cold.clock.advance(300);
  await (await status).release();
  await cold.clock.advance(4000);
  assert.deepEqual(await counted, { accepted: BURST });
});
