import assert from "node:assert/strict";
import { Fault } from "../../src/domain/mod.ts";
import { ManualClock } from "../../src/platform/mod.ts";
import { AttemptGuard } from "../../src/router/attempt_guard.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { setUpRouter } from "../fakes/router_setup.ts";
import {
  answering,
  DONE,
  finish,
  ROLE,
  text,
} from "../fakes/scripted_engine.ts";

const LIMIT_MS = 16_000;

function guarded() {
  const clock = new ManualClock();
  const guard = new AttemptGuard(clock, new AbortController().signal);
  return { clock, guard };
}

Deno.test("AttemptGuard ends an attempt whose engine is silent for the limit, and not before", async () => {
  const { clock, guard } = guarded();
  using _ended = guard;
  guard.allow(LIMIT_MS, "it was silent");
  await clock.advance(LIMIT_MS - 1);
  assert.equal(guard.signal.aborted, false);
  await clock.advance(1);
  assert(guard.signal.reason instanceof Fault);
  assert.equal(guard.signal.reason.code, "engine_timeout");
});

Deno.test("AttemptGuard takes a pause of this node, whenever it comes, for a quarter of the limit at most", async () => {
  for (const beforeMs of [0, 5000, 15_999]) {
    for (const pauseMs of [10_000, 60_000, 3_600_000]) {
      const { clock, guard } = guarded();
      using _ended = guard;
      guard.allow(LIMIT_MS, "it was silent");
      await clock.advance(beforeMs);
      await clock.pause(pauseMs);
      const what = `${pauseMs} ms after ${beforeMs} ms`;
      assert.equal(guard.signal.aborted, false, what);
      const leftMs = Math.max(
        LIMIT_MS - beforeMs - LIMIT_MS / 4,
        LIMIT_MS / 4,
      );
      await clock.advance(leftMs - 1);
      assert.equal(guard.signal.aborted, false, what);
      // The engine is silent by itself now.
      await clock.advance(LIMIT_MS);
      assert.equal(guard.signal.aborted, true, what);
    }
  }
});

Deno.test("AttemptGuard grants nothing for a pause before the wait began", async () => {
  const { clock, guard } = guarded();
  using _ended = guard;
  guard.allow(LIMIT_MS, "it was silent");
  guard.relax();
  // The timer of the wait before is still set, and rings late.
  const paused = clock.pause(60_000);
  guard.allow(LIMIT_MS, "it was silent");
  await paused;
  await clock.advance(LIMIT_MS);
  assert.equal(guard.signal.aborted, true);
});

Deno.test("AttemptGuard sets no timer any more once its attempt is over", () => {
  const { clock, guard } = guarded();
  guard.allow(LIMIT_MS, "it was silent");
  guard.cancel("over");
  guard[Symbol.dispose]();
  guard.allow(LIMIT_MS, "it was silent");
  assert.equal(clock.pending, 0);
});

Deno.test("route blames no engine for a time in which this node stood still", async () => {
  const setup = setUpRouter(
    () => ({
      kind: "answer",
      steps: [
        ROLE,
        text("a"),
        { waitMs: 21_000 },
        text("b"),
        finish(),
        DONE,
      ],
    }),
    [() => answering("x")],
  );
  const never = new AbortController().signal;
  const answer = await setup.router.route(chatRequest(), never);
  const all = new Response(answer.body).text();
  await setup.clock.advance(500);
  await setup.clock.pause(20_400);
  await setup.clock.advance(1000);
  assert.equal(await all, ROLE + text("a") + text("b") + finish() + DONE);
  const [attempt] = setup.router.decision(answer.decision)?.attempts ?? [];
  assert.equal(attempt?.outcome, "answered");
  assert.equal(setup.clock.pending, 0);
});
