import assert from "node:assert/strict";
import {
  type Attempt,
  type Engine,
  Fault,
  type QueueReport,
  type Router,
  type StartResult,
} from "@covey/core/domain";
import {
  type Clock,
  createSystemClock,
  ManualClock,
} from "@covey/core/platform";
import { PeerEngines } from "../../src/link/peer_engine.ts";
import type { MemberChannel } from "../../src/link/member_channel.ts";
import {
  attemptFrom,
  bodyOf,
  type LinkFixture,
  makeIdentity,
  openLink,
} from "./link_fixture.ts";
import { reportWith } from "./report_of.ts";

const server = await makeIdentity(1);
const entry = await makeIdentity(2);
const entryId = entry.id;

const QUEUE: QueueReport = { slots: 2, runningMs: [100, 300], waitingMs: [50] };
const never = new AbortController().signal;

interface Peer {
  readonly engine: Engine;
  readonly engines: readonly Engine[];
  readonly channel: MemberChannel;
  readonly failures: string[];
  readonly roundTrips: number[];
}

function peerOn(
  link: LinkFixture,
  clock: Clock = createSystemClock(),
  work = { report: reportWith(entryId, QUEUE), atMs: clock.monotonic() },
  onConnected: () => void = () => {},
): Peer {
  link.members.set(entry.keyHash, entry.id);
  const channel = link.channel(entry, clock, undefined, onConnected);
  const failures: string[] = [];
  const roundTrips: number[] = [];
  const engines = new PeerEngines({
    self: entry.id,
    clock,
    channel,
    standing: {
      node: server.id,
      nodeName: () => "peer",
      availability: () => ({ kind: "available" }),
      hop: () => ({ medianMs: 1, jitterMs: 0 }),
      work: () => work,
    },
    onRoundTrip: (ms) => roundTrips.push(ms),
    onLinkFailure: () => failures.push("link"),
  });
  const [engine] = engines.list();
  if (engine === undefined) throw new Error("No engine");
  assert.equal(engines.list()[0], engine);
  return { engine, engines: engines.list(), channel, failures, roundTrips };
}

function acceptWith(answer: () => Promise<ReadableStream<Uint8Array>>) {
  return (): Promise<StartResult> =>
    Promise.resolve({
      kind: "accepted",
      queue: QUEUE,
      answer: async () => ({
        status: 200,
        contentType: "text/event-stream",
        retryAfter: null,
        body: await answer(),
      }),
    });
}

async function openBody(engine: Engine, signal = never) {
  const started = await engine.start(attemptFrom(entryId), signal);
  if (started.kind !== "accepted") throw new Error(started.message);
  return await started.answer();
}

async function readAll(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(body as BodyInit).arrayBuffer());
}

Deno.test("a peer's engine passes attempt and answer through byte for byte", async () => {
  const taken: { engine: string; attempt: Attempt }[] = [];
  const pieces = [1, 7, 70_000, 3, 300_000].map((size, seed) =>
    Uint8Array.from({ length: size }, (_, at) => (at * 31 + seed) & 255)
  );
  const accept = acceptWith(() => Promise.resolve(bodyOf(pieces)));
  await using link = await openLink(server, (engine, attempt) => {
    taken.push({ engine, attempt });
    return accept();
  });
  const { engine, failures, roundTrips } = peerOn(link);
  // Twice, so that a connection is used again.
  for (const n of [1, 2]) {
    const attempt = attemptFrom(entryId, n);
    const started = await engine.start(attempt, never);
    assert.equal(started.kind, "accepted");
    if (started.kind !== "accepted") return;
    assert.deepEqual(started.queue, QUEUE);
    const answer = await started.answer();
    assert.equal(answer.status, 200);
    assert.equal(answer.contentType, "text/event-stream");
    const expected = new Uint8Array(pieces.flatMap((piece) => [...piece]));
    assert.deepEqual(await readAll(answer.body), expected);
    assert.deepEqual(taken.at(-1), { engine: "sim/1", attempt });
  }
  assert.deepEqual(failures, []);
  assert.equal(roundTrips.length, 2);
});

Deno.test("a peer's engine reports a refusal as one", async () => {
  await using link = await openLink(server, () =>
    Promise.resolve({
      kind: "refused",
      reason: "duplicate_attempt",
      message: "Known already",
      retryAfterMs: null,
    }));
  const { engine, failures } = peerOn(link);
  assert.deepEqual(await engine.start(attemptFrom(entryId), never), {
    kind: "refused",
    reason: "duplicate_attempt",
    message: "Known already",
    retryAfterMs: null,
  });
  assert.deepEqual(failures, []);
});

Deno.test("aborting an attempt at a peer aborts it there", async () => {
  const stopped = Promise.withResolvers<void>();
  await using link = await openLink(server, (_engine, _attempt, signal) => {
    signal.addEventListener("abort", () => stopped.resolve());
    return acceptWith(() =>
      Promise.resolve(
        new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new Uint8Array([1])),
        }),
      )
    )();
  });
  const { engine, failures } = peerOn(link);
  const leave = new AbortController();
  const { body } = await openBody(engine, leave.signal);
  const reader = body.getReader();
  await reader.read();
  const next = reader.read();
  leave.abort(new DOMException("Left", "AbortError"));
  await assert.rejects(next, { name: "AbortError" });
  await stopped.promise;
  assert.deepEqual(failures, []);
});

Deno.test("aborting an attempt that was not accepted yet aborts it there, and it arrives once", async () => {
  let arrivals = 0;
  const arrived = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const serve: Router["serve"] = (_engine, attempt, signal) => {
    if (attempt.dispatch === 1) {
      return acceptWith(() => Promise.resolve(bodyOf([])))();
    }
    arrivals++;
    arrived.resolve();
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        stopped.resolve();
        reject(signal.reason);
      })
    );
  };
  await using link = await openLink(server, serve);
  const { engine } = peerOn(link);
  // The first one leaves a connection behind, on which the second one goes.
  await readAll((await openBody(engine)).body);
  const leave = new AbortController();
  const started = engine.start(attemptFrom(entryId, 2), leave.signal);
  await arrived.promise;
  leave.abort(new DOMException("Left", "AbortError"));
  await assert.rejects(started, { name: "AbortError" });
  await stopped.promise;
  // A round trip later a second arrival would have shown.
  await readAll((await openBody(engine)).body);
  assert.equal(arrivals, 1);
});

Deno.test("cancelling the body of a peer's answer stops it there", async () => {
  const stopped = Promise.withResolvers<void>();
  await using link = await openLink(
    server,
    acceptWith(() =>
      Promise.resolve(
        new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new Uint8Array([1])),
          cancel: () => stopped.resolve(),
        }),
      )
    ),
  );
  const { body } = await openBody(peerOn(link).engine);
  const reader = body.getReader();
  await reader.read();
  await reader.cancel();
  await stopped.promise;
});

Deno.test("a link that breaks in the middle of a body is an error, never an end", async () => {
  await using link = await openLink(
    server,
    acceptWith(() =>
      Promise.resolve(
        new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new Uint8Array([1, 2])),
        }),
      )
    ),
  );
  const { engine, failures } = peerOn(link);
  const reader = (await openBody(engine)).body.getReader();
  assert.deepEqual((await reader.read()).value, new Uint8Array([1, 2]));
  link.server.expel(entry.keyHash);
  await assert.rejects(
    reader.read(),
    (error) => error instanceof Fault && error.code === "link_failed",
  );
  assert.deepEqual(failures, ["link"]);
});

Deno.test("an engine's failure at a peer comes as that failure, and is none of the link", async () => {
  await using link = await openLink(
    server,
    acceptWith(() =>
      Promise.resolve(ReadableStream.from((async function* () {
        yield await Promise.resolve(new Uint8Array([1]));
        throw new Fault("engine_failed", "It crashed", { origin: "engine" });
      })()))
    ),
  );
  const { engine, failures } = peerOn(link);
  const reader = (await openBody(engine)).body.getReader();
  await reader.read();
  await assert.rejects(
    reader.read(),
    (error) =>
      error instanceof Fault && error.code === "engine_failed" &&
      error.origin === "engine" && error.message === "It crashed",
  );
  assert.deepEqual(failures, []);
});

Deno.test("an attempt that is not accepted within 2 s is a link failure", async () => {
  const arrived = Promise.withResolvers<void>();
  await using link = await openLink(server, () => {
    arrived.resolve();
    return new Promise(() => {});
  });
  const clock = new ManualClock();
  const { engine, failures } = peerOn(link, clock);
  const started = engine.start(attemptFrom(entryId), never);
  const failed = assert.rejects(
    started,
    (error) => error instanceof Fault && error.code === "link_failed",
  );
  await arrived.promise;
  await clock.advance(2500);
  await failed;
  assert.deepEqual(failures, ["link"]);
});

Deno.test("an answer that falls silent for 4 s is a link failure", async () => {
  await using link = await openLink(
    server,
    acceptWith(() => new Promise(() => {})),
    new ManualClock(),
  );
  const clock = new ManualClock();
  const { engine } = peerOn(link, clock);
  const started = await engine.start(attemptFrom(entryId), never);
  if (started.kind !== "accepted") throw new Error(started.message);
  const failed = assert.rejects(
    started.answer(),
    (error) => error instanceof Fault && error.code === "link_failed",
  );
  await clock.advance(4000);
  await failed;
});

Deno.test("a silent engine's member keeps the link alive", async () => {
  const serverClock = new ManualClock();
  const head = Promise.withResolvers<ReadableStream<Uint8Array>>();
  await using link = await openLink(
    server,
    acceptWith(() => head.promise),
    serverClock,
  );
  const clock = new ManualClock();
  const { channel, engine } = peerOn(link, clock);
  const started = await engine.start(attemptFrom(entryId), never);
  if (started.kind !== "accepted") throw new Error(started.message);
  const answer = started.answer();
  for (let second = 0; second < 8; second++) {
    const before = channel.lastHeardMs ?? 0;
    await clock.advance(1000);
    // The first beat passes unheard when a frame was written since the last.
    while ((channel.lastHeardMs ?? 0) <= before) {
      await serverClock.advance(1000);
    }
  }
  head.resolve(bodyOf([new Uint8Array([9])]));
  assert.deepEqual(await readAll((await answer).body), new Uint8Array([9]));
});

Deno.test("a member held to be gone ends its attempts at once", async () => {
  await using link = await openLink(
    server,
    acceptWith(() => new Promise(() => {})),
  );
  const { channel, engine } = peerOn(link);
  const started = await engine.start(attemptFrom(entryId), never);
  if (started.kind !== "accepted") throw new Error(started.message);
  const answer = started.answer();
  channel.breakOff("The member is off line");
  await assert.rejects(
    answer,
    (error) => error instanceof Fault && error.code === "link_failed",
  );
});

Deno.test("a peer's queue ages with local time, and an accepted line replaces it", async () => {
  await using link = await openLink(
    server,
    acceptWith(() => Promise.resolve(bodyOf([]))),
  );
  const clock = new ManualClock();
  const { engine } = peerOn(link, clock);
  await clock.advance(120);
  const before = engine.view();
  assert.deepEqual(before.offers[0]?.queue, {
    slots: 2,
    runningMs: [30, 180],
    waitingMs: [],
  });
  assert.deepEqual(before.offers[0]?.state, {
    kind: "loading",
    remainingMs: 880,
  });
  assert.equal(before.dispatchesSeen, 4);
  const started = await engine.start(attemptFrom(entryId, 7), never);
  if (started.kind !== "accepted") throw new Error(started.message);
  await readAll((await started.answer()).body);
  assert.deepEqual(engine.view().offers[0]?.queue, QUEUE);
  assert.equal(engine.view().dispatchesSeen, 7);
});

Deno.test("an accepted line of one engine is news of all that share its device, each with its own slots", async () => {
  await using link = await openLink(
    server,
    acceptWith(() => Promise.resolve(bodyOf([]))),
  );
  const clock = new ManualClock();
  const { engines: [one], ...seen } = reportWith(entryId, QUEUE);
  if (one === undefined) throw new Error("No engine");
  const other = (id: string, device: string) => ({
    id,
    offers: one.offers.map((offer) => ({
      ...offer,
      device,
      queue: { ...offer.queue, slots: 5 },
    })),
  });
  const report = {
    ...seen,
    engines: [one, other("sim/2", "cpu"), other("sim/3", "gpu")],
  };
  const { engine, engines } = peerOn(link, clock, { report, atMs: 0 });
  await clock.advance(120);
  const started = await engine.start(attemptFrom(entryId, 7), never);
  if (started.kind !== "accepted") throw new Error(started.message);
  await readAll((await started.answer()).body);
  const [, same, elsewhere] = engines.map((each) => each.view());
  assert.deepEqual(same?.offers[0]?.queue, { ...QUEUE, slots: 5 });
  assert.equal(same?.dispatchesSeen, 7);
  assert.deepEqual(elsewhere?.offers[0]?.queue.runningMs, [30, 180]);
  assert.equal(elsewhere?.dispatchesSeen, 4);
});

Deno.test("a connection that dies under an attempt ends it, and no second arrival is run", async () => {
  const arrivals: string[] = [];
  const holder: { kill: () => void } = { kill: () => {} };
  await using link = await openLink(server, (_engine, attempt) => {
    if (attempt.dispatch === 1) {
      return acceptWith(() => Promise.resolve(bodyOf([])))();
    }
    // What the router does with an id that it knows.
    if (arrivals.includes(attempt.id)) {
      return Promise.resolve({
        kind: "refused",
        reason: "duplicate_attempt",
        message: "Known already",
        retryAfterMs: null,
      });
    }
    arrivals.push(attempt.id);
    holder.kill();
    return new Promise(() => {});
  });
  holder.kill = () => link.server.expel(entry.keyHash);
  const { engine } = peerOn(link);
  await readAll((await openBody(engine)).body);
  const outcome = await engine.start(attemptFrom(entryId, 2), never).then(
    (started) => started.kind === "refused" ? started.reason : started.kind,
    (error) => error instanceof Fault ? error.code : String(error),
  );
  assert.ok(
    outcome === "link_failed" || outcome === "duplicate_attempt",
    outcome,
  );
  assert.equal(arrivals.length, 1);
});

Deno.test("a peer's next attempt uses the connection of the one before, which its entry ended with the last byte", async () => {
  await using link = await openLink(
    server,
    acceptWith(() => Promise.resolve(bodyOf([new Uint8Array([1])]))),
  );
  let dials = 0;
  const { engine, failures } = peerOn(link, createSystemClock(), {
    report: reportWith(entryId, QUEUE),
    atMs: 0,
  }, () => dials++);
  for (let n = 1; n <= 8; n++) {
    const attempt = new AbortController();
    const { body } = await openBody(engine, attempt.signal);
    const reader = body.getReader();
    while (!(await reader.read()).done);
    attempt.abort("The attempt is over");
  }
  // Another one where the first was not free yet.
  assert.ok(dials <= 2, `${dials} connections for 8 attempts`);
  assert.deepEqual(failures, []);
});
