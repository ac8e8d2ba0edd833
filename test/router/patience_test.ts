import assert from "node:assert/strict";
import { patientUntilMs } from "../../src/router/patience.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { type Behaviour, setUpRouter } from "../fakes/router_setup.ts";
import { nodeIdOf, type Script } from "../fakes/scripted_engine.ts";
// Loaded with the first prompt, which takes real time that the clock knows nothing of.
import "../../src/router/prefix_chain.ts";

const NEVER = new AbortController().signal;
const STREAM = { firstByteMs: 15_000, wholeMs: 15_000, idleMs: 15_000 };
const WHOLE = { firstByteMs: 15_000, wholeMs: 90_000, idleMs: 15_000 };
const SILENT = { sentAtMs: 1000, nowMs: 16_000, aliveAtMs: 0, isThere: true };

Deno.test("patientUntilMs gives a stream no more than its limit, and that anew with each sign of life", () => {
  assert.equal(patientUntilMs(STREAM, SILENT), 16_000);
  const working = { ...SILENT, aliveAtMs: 12_000 };
  assert.equal(patientUntilMs(STREAM, working), 27_000);
  const late = { ...SILENT, aliveAtMs: 150_000 };
  assert.equal(patientUntilMs(STREAM, late), 151_000);
});

Deno.test("patientUntilMs waits for a whole answer look by look, while its engine is there", () => {
  assert.equal(patientUntilMs(WHOLE, SILENT), 21_000);
  assert.equal(patientUntilMs(WHOLE, { ...SILENT, nowMs: 88_000 }), 91_000);
  const gone = { ...SILENT, isThere: false, nowMs: 21_000 };
  assert.equal(patientUntilMs(WHOLE, gone), 16_000);
});

/** Takes its time over an answer that is no stream. */
const slow = (waitMs: number): Behaviour => (): Script => ({
  kind: "answer",
  contentType: "application/json",
  waitMs,
  steps: [
    '{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}',
  ],
});

function askWhole(setup: ReturnType<typeof setUpRouter>) {
  // As most clients ask: without a limit, so that its context is one.
  const answer = setup.router.route(
    chatRequest({ stream: false, maxOutputTokens: null }),
    NEVER,
  );
  answer.catch(() => {});
  return answer;
}

Deno.test("route gives a whole answer time for all of its context, and no more", async () => {
  const predicted = setUpRouter(slow(1));
  const first = askWhole(predicted);
  await predicted.clock.advance(1);
  // 8,192 tokens of 10 ms, and half as long again.
  const limitMs = (await first).predictedMs + 1.5 * 81_920;
  for (const [tookMs, node] of [[limitMs - 1, 1], [limitMs + 1, 2]]) {
    const setup = setUpRouter(slow(tookMs ?? 0), [slow(1)]);
    const answer = askWhole(setup);
    await setup.clock.advance(limitMs + 10);
    assert.equal((await answer).node, nodeIdOf(node ?? 0));
    assert.equal(setup.clock.pending, 0);
  }
});

Deno.test("route takes a whole answer elsewhere within 5 s once its engine is gone, after 15 s at the soonest (RTE-06)", async () => {
  for (const [goneAtMs, latestMs] of [[3000, 15_000], [22_000, 27_000]]) {
    const setup = setUpRouter(slow(1e9), [slow(1)]);
    const answer = askWhole(setup);
    await setup.clock.advance(goneAtMs ?? 0);
    setup.local.offers = [];
    await setup.clock.advance((latestMs ?? 0) - (goneAtMs ?? 0) - 5000);
    assert.equal(setup.peers[0]?.attempts.length, 0);
    await setup.clock.advance(5002);
    const { decision, node } = await answer;
    assert.equal(node, nodeIdOf(2));
    const [first] = setup.router.decision(decision)?.attempts ?? [];
    assert.equal(first?.outcome, "failed");
    assert(Number(first.endedAtMs) <= (latestMs ?? 0), `${first.endedAtMs}`);
    assert.equal(setup.clock.pending, 0);
  }
});
