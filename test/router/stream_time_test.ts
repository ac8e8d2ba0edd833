import assert from "node:assert/strict";
import type { RoutedAnswer } from "../../src/domain/mod.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { type RouterSetup, setUpRouter } from "../fakes/router_setup.ts";
import {
  answering,
  answeringIn,
  DONE,
  finish,
  nodeIdOf,
  offerOf,
  ROLE,
  type Script,
  text,
} from "../fakes/scripted_engine.ts";

const NEVER = new AbortController().signal;
const HANG: Script = { kind: "answer", steps: [{ hang: true }] };
const COMMENT = ": queued\n\n";

function ask(setup: RouterSetup, signal: AbortSignal = NEVER) {
  const answer = setup.router.route(chatRequest(), signal);
  answer.catch(() => {});
  return answer;
}

/** Collects what comes, without asking for more than time brings. */
function collect(answer: RoutedAnswer) {
  const seen: string[] = [];
  const reader = answer.body.getReader();
  const ended = (async () => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return "closed";
      seen.push(new TextDecoder().decode(value));
    }
  })().catch((thrown: unknown) => thrown);
  return { seen, ended, reader };
}

async function assertAtRest(setup: RouterSetup): Promise<void> {
  await setup.clock.advance(0);
  assert.equal(setup.router.inFlight(), 0, "something is in flight");
  assert.equal(setup.clock.pending, 0, "a timer waits");
  for (const engine of [setup.local, ...setup.peers]) {
    assert.equal(engine.running, 0, "an engine runs");
  }
}

Deno.test("route gives up an engine without a first byte in 15 s, comments or not (SSE-03)", async () => {
  const comments: Script = {
    kind: "answer",
    steps: Array(40).fill([": wait\n\n", { waitMs: 5000 }]).flat(),
  };
  for (
    const [script, patienceMs] of [[HANG, 15_000], [comments, 150_000]] as const
  ) {
    const setup = setUpRouter(() => script, [() => answering("fine")]);
    const answer = ask(setup);
    await setup.clock.advance(10_000);
    const { seen, ended } = collect(await answer);
    await setup.clock.advance(patienceMs - 10_001);
    assert.equal(setup.peers[0]?.attempts.length, 0);
    await setup.clock.advance(5001);
    assert.equal(await ended, "closed");
    const told = seen.filter((one) => one !== COMMENT).join("");
    assert.equal(told, ROLE + text("fine") + finish() + DONE);
    await assertAtRest(setup);
  }
});

Deno.test("route opens a stream with queued comments after 10 s, one a second", async () => {
  const setup = setUpRouter(() => ({
    kind: "answer",
    steps: [ROLE, { waitMs: 12_500 }, text("a"), finish(), DONE],
  }));
  const asked = ask(setup);
  let opened = false;
  asked.then(() => opened = true);
  await setup.clock.advance(9999);
  assert.equal(opened, false);
  await setup.clock.advance(1);
  const answer = await asked;
  assert.equal(answer.node, nodeIdOf(1));
  const { seen, ended } = collect(answer);
  await setup.clock.advance(2600);
  assert.equal(await ended, "closed");
  assert.deepEqual(seen.slice(0, 3), [COMMENT, COMMENT, COMMENT]);
  assert.equal(seen.slice(3).join(""), ROLE + text("a") + finish() + DONE);
  const actual = setup.router.decision(answer.decision)?.actual;
  assert.equal(actual?.ttftMs, 12_500);
  await assertAtRest(setup);
});

Deno.test("route tells a client whose head is out of a failure by an error event", async () => {
  const setup = setUpRouter(() => HANG);
  const answer = ask(setup);
  await setup.clock.advance(10_000);
  const { seen, ended } = collect(await answer);
  await setup.clock.advance(6000);
  assert.equal(await ended, "closed");
  assert.match(seen.at(-1) ?? "", /^data: \{"error":.*"engine_timeout"/);
  await assertAtRest(setup);
});

Deno.test("route waits longer for an engine that is seen to work for others", async () => {
  // One slot, and answers that take four times what was predicted.
  const offers = [offerOf({ rates: { ...offerOf().rates, tpotMs: [10] } })];
  const setup = setUpRouter(() => answeringIn(10_000, 100), [], { offers });
  const answers = [1, 2, 3, 4].map(() => ask(setup));
  await setup.clock.advance(10_000);
  const bodies = (await Promise.all(answers)).map(collect);
  await setup.clock.advance(35_000);
  for (const { seen, ended } of bodies) {
    assert.equal(await ended, "closed");
    assert.equal(seen.at(-1), DONE);
  }
  await assertAtRest(setup);
});

Deno.test("route breaks a stream off that is idle for 15 s, but not one whose client is slow", async () => {
  const setup = setUpRouter(() => ({
    kind: "answer",
    steps: [text("a"), text("b"), { waitMs: 14_000 }, ": alive\n\n", {
      hang: true,
    }],
  }));
  const slow = await ask(setup);
  const reader = slow.body.getReader();
  await reader.read();
  await setup.clock.advance(10_000);
  const second = await reader.read();
  assert.equal(new TextDecoder().decode(second.value), text("b"));
  reader.releaseLock();
  const { seen, ended } = collect(slow);
  await setup.clock.advance(4000 + 14_900);
  assert.deepEqual(seen, [": alive\n\n"]);
  await setup.clock.advance(200);
  assert.equal(await ended, "closed");
  assert.match(seen.at(-1) ?? "", /engine_timeout/);
  await assertAtRest(setup);
});

Deno.test("route frees a slot when the engine is done, although its client reads slowly", async () => {
  const setup = setUpRouter(() => answering("a", "b"));
  const slow = await ask(setup);
  await setup.clock.advance(0);
  assert.equal(setup.local.running, 0);
  const quick = collect(await ask(setup));
  await setup.clock.advance(0);
  assert.equal(await quick.ended, "closed");
  const late = collect(slow);
  assert.equal(await late.ended, "closed");
  assert.equal(late.seen.at(-1), DONE);
  await assertAtRest(setup);
});

Deno.test("route stops the engine and asks nobody else when the client leaves (SSE-11)", async () => {
  const streaming: Script = {
    kind: "answer",
    steps: [ROLE, text("a"), { hang: true }],
  };
  const leave: Record<string, (setup: RouterSetup) => Promise<void>> = {
    async "before the first byte"(setup) {
      const gone = new AbortController();
      const answer = ask(setup, gone.signal);
      await setup.clock.advance(1000);
      gone.abort(new Error("gone"));
      await assert.rejects(answer, /gone/);
    },
    async "by signal in the middle"(setup) {
      const gone = new AbortController();
      const answer = await ask(setup, gone.signal);
      const { ended } = collect(answer);
      await setup.clock.advance(1000);
      gone.abort(new Error("gone"));
      assert.match(String(await ended), /gone/);
    },
    async "by signal without reading"(setup) {
      const gone = new AbortController();
      await ask(setup, gone.signal);
      gone.abort(new Error("gone"));
    },
    async "by cancelling the body"(setup) {
      const { reader } = collect(await ask(setup));
      await setup.clock.advance(1000);
      await reader.cancel();
    },
    async "while comments go out"(setup) {
      const answer = ask(setup);
      await setup.clock.advance(10_000);
      const { reader } = collect(await answer);
      await setup.clock.advance(2000);
      await reader.cancel();
    },
  };
  for (const [when, act] of Object.entries(leave)) {
    const early = when.includes("before") || when.includes("comments");
    const setup = setUpRouter(() => early ? HANG : streaming, [
      () => answering("x"),
    ]);
    await act(setup);
    await assertAtRest(setup);
    assert.equal(setup.local.stopped, 1, when);
    assert.equal(setup.peers[0]?.attempts.length, 0, when);
    assert.equal(
      setup.metrics.counts.get("covey_attempts_total{outcome=cancelled}"),
      1,
      when,
    );
    assert.equal(
      setup.metrics.counts.get(
        "covey_requests_total{outcome=cancelled,capability=chat}",
      ),
      1,
      when,
    );
  }
});

Deno.test("route stops an engine that works on a whole answer when the client leaves (SSE-11)", async () => {
  const setup = setUpRouter(() => ({
    kind: "answer",
    contentType: "application/json",
    waitMs: 30_000,
    steps: ["{}"],
  }), [() => answering("x")]);
  const gone = new AbortController();
  const answer = setup.router.route(
    chatRequest({ stream: false }),
    gone.signal,
  );
  const left = assert.rejects(answer, /gone/);
  await setup.clock.advance(1000);
  gone.abort(new Error("gone"));
  await left;
  await assertAtRest(setup);
  assert.equal(setup.local.stopped, 1);
  assert.equal(setup.peers[0]?.attempts.length, 0);
});

Deno.test("route counts a client that leaves at the terminator as answered", async () => {
  const setup = setUpRouter(() => ({
    kind: "answer",
    steps: [ROLE + text("a") + DONE, { hang: true }],
  }));
  const answer = await ask(setup);
  const reader = answer.body.getReader();
  // What is at hand goes out together.
  const { value } = await reader.read();
  assert.equal(new TextDecoder().decode(value), ROLE + text("a") + DONE);
  await reader.cancel();
  await assertAtRest(setup);
  assert.equal(
    setup.metrics.counts.get(
      "covey_requests_total{outcome=answered,capability=chat}",
    ),
    1,
  );
});

Deno.test("disposing the router ends what waits and what runs, and it takes no more", async () => {
  const setup = setUpRouter(() => ({
    kind: "answer",
    steps: [text("a"), { hang: true }],
  }));
  const running = collect(await ask(setup));
  const waiting = ask(setup);
  await setup.clock.advance(100);
  assert.equal(setup.router.inFlight(), 2);
  await setup.router[Symbol.asyncDispose]();
  await assert.rejects(waiting, { code: "shutting_down" });
  assert.equal(await running.ended, "closed");
  assert.match(running.seen.at(-1) ?? "", /shutting_down/);
  await assert.rejects(ask(setup), { code: "shutting_down" });
  await assertAtRest(setup);
});

Deno.test("disposing the router ends its first request, whose prompt waits for a library to be loaded", async () => {
  const setup = setUpRouter(() => answering("x"));
  const first = assert.rejects(ask(setup), { code: "shutting_down" });
  await setup.router[Symbol.asyncDispose]();
  await first;
  assert.equal(setup.local.attempts.length, 0);
  await assertAtRest(setup);
});
