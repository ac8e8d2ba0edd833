import assert from "node:assert/strict";
import { Fault, type Router, type StartResult } from "@covey/core/domain";
import { createSystemClock, ManualClock } from "@covey/core/platform";
import {
  Withdrawable,
  withdrawAttempt,
  withdrawnAttempt,
} from "../../src/link/withdraw_call.ts";
import { PeerEngines } from "../../src/link/peer_engine.ts";
import { attemptFrom, makeIdentity, openLink } from "./link_fixture.ts";

const [server, entry, other] = await Promise.all([1, 2, 3].map(makeIdentity));
if (!server || !entry || !other) throw new Error("No identities");

const QUEUE = { slots: 1, runningMs: [100], waitingMs: [50] };
const never = new AbortController().signal;

/** A queue that gives an attempt back while it waits, as its real owner does. */
function waitingQueue() {
  const started = Promise.withResolvers<never>();
  started.promise.catch(() => {});
  let state: "waiting" | "started" | "left" = "waiting";
  const serve: Router["serve"] = () =>
    Promise.resolve<StartResult>({
      kind: "accepted",
      queue: QUEUE,
      answer: () => started.promise,
      withdraw() {
        if (state !== "waiting") return Promise.resolve(false);
        state = "left";
        started.reject(new Fault("no_candidate", "Taken back"));
        return Promise.resolve(true);
      },
    });
  return { serve, start: () => state = "started" };
}

function peerOn(link: Awaited<ReturnType<typeof openLink>>) {
  if (!entry || !server) throw new Error("No identities");
  link.members.set(entry.keyHash, entry.id);
  const clock = createSystemClock();
  const engines = new PeerEngines({
    self: entry.id,
    clock,
    channel: link.channel(entry),
    standing: {
      node: server.id,
      nodeName: () => "peer",
      availability: () => ({ kind: "available" }),
      hop: () => ({ medianMs: 1, jitterMs: 0 }),
      work: () => ({
        report: { engines: [{ id: "sim", offers: [] }], dispatchesSeen: {} },
        atMs: 0,
      }),
    },
    onRoundTrip() {},
    onLinkFailure() {},
  });
  return engines.list()[0] ?? assert.fail();
}

async function accepted(engine: ReturnType<typeof peerOn>) {
  if (!entry) throw new Error("No identity");
  const started = await engine.start(attemptFrom(entry.id), never);
  assert(started.kind === "accepted");
  return started;
}

Deno.test("an attempt that waits at a peer is taken back once, and its answer says so", async () => {
  const queue = waitingQueue();
  await using link = await openLink(server, queue.serve);
  const started = await accepted(peerOn(link));
  const answer = assert.rejects(
    started.answer(),
    (error) => error instanceof Fault && error.code === "no_candidate",
  );
  assert.equal(await started.withdraw?.(), true);
  await answer;
  assert.equal(await started.withdraw?.(), false);
});

Deno.test("an attempt that has started at a peer is not taken back", async () => {
  const queue = waitingQueue();
  await using link = await openLink(server, queue.serve);
  const leave = new AbortController();
  const engine = peerOn(link);
  const started = await engine.start(attemptFrom(entry.id), leave.signal);
  assert(started.kind === "accepted");
  queue.start();
  assert.equal(await started.withdraw?.(), false);
  const answer = assert.rejects(started.answer());
  leave.abort(new Error("Left"));
  await answer;
});

Deno.test("only the entry of an attempt may take it back", async () => {
  const queue = waitingQueue();
  await using link = await openLink(server, queue.serve);
  const started = await accepted(peerOn(link));
  link.members.set(other.keyHash, other.id);
  const { id } = attemptFrom(entry.id);
  const clock = createSystemClock();
  assert.equal(
    await withdrawAttempt(link.channel(other), id, clock),
    false,
  );
  const answer = assert.rejects(started.answer());
  assert.equal(await started.withdraw?.(), true);
  await answer;
});

Deno.test("a member that is silent for a second, or knows no withdrawal, has not given it back", async () => {
  const clock = new ManualClock();
  const asked: string[] = [];
  const silent = {
    request: (call: { path: string; signal: AbortSignal }) => {
      asked.push(call.path);
      return new Promise<never>((_, reject) =>
        call.signal.addEventListener("abort", () => reject(call.signal.reason))
      );
    },
  } as unknown as Parameters<typeof withdrawAttempt>[0];
  const { id } = attemptFrom(entry.id);
  const reply = withdrawAttempt(silent, id, clock);
  await clock.advance(1000);
  assert.equal(await reply, false);
  assert.equal(clock.pending, 0);
  assert.deepEqual(asked.map(withdrawnAttempt), [id]);
  assert.equal(withdrawnAttempt("/covey/1/attempts/sim%2Fwithdraw"), undefined);

  await using link = await openLink(server);
  link.members.set(entry.keyHash, entry.id);
  assert.equal(
    await withdrawAttempt(link.channel(entry), id, createSystemClock()),
    false,
  );
  assert.equal(new Withdrawable().size, 0);
});
