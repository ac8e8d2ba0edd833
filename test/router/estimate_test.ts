import assert from "node:assert/strict";
import fc from "fast-check";
import { estimate, tpotAt } from "../../src/router/estimate.ts";
import { queueWait } from "../../src/router/queue_wait.ts";
import { offerOf } from "../fakes/scripted_engine.ts";

const WORK = {
  capability: "chat",
  promptTokens: 100,
  outputTokens: 50,
} as const;
const HERE = {
  work: WORK,
  availability: { kind: "available" },
  hop: { medianMs: 0, jitterMs: 0 },
  unseenMs: [],
} as const;

Deno.test("queueWait plays slots forward, own unseen dispatches last", () => {
  const queue = { slots: 2, runningMs: [30, 10], waitingMs: [5, 100] };
  // At 10 the work of 5 starts, at 15 the one of 100, at 30 the newcomer.
  assert.deepEqual(queueWait(queue, []), { waitMs: 30, concurrency: 2 });
  assert.deepEqual(queueWait(queue, [20]), { waitMs: 50, concurrency: 2 });
  assert.deepEqual(
    queueWait({ slots: 4, runningMs: [9], waitingMs: [] }, [9]),
    { waitMs: 0, concurrency: 3 },
  );
  assert.equal(
    queueWait({ slots: 1, runningMs: [10, 20], waitingMs: [] }, []).waitMs,
    20,
  );
  assert.equal(
    queueWait({ slots: 0, runningMs: [], waitingMs: [] }, []).waitMs,
    0,
  );
});

Deno.test("queueWait never shrinks when work is added, nor grows with a slot more", () => {
  const times = fc.array(fc.nat(1000), { maxLength: 8 });
  fc.assert(fc.property(
    fc.integer({ min: 1, max: 6 }),
    times,
    times,
    times,
    (slots, running, waitingMs, unseen) => {
      const runningMs = running.slice(0, slots);
      const waiting = runningMs.length === slots ? waitingMs : [];
      const queue = { slots, runningMs, waitingMs: waiting };
      const { waitMs } = queueWait(queue, unseen);
      assert(queueWait(queue, [...unseen, 7]).waitMs >= waitMs);
      assert(
        queueWait({ ...queue, slots: slots + 1 }, unseen).waitMs <= waitMs,
      );
    },
  ));
});

Deno.test("estimate is the sum of its terms, the queue weighted for placement", () => {
  const queue = { slots: 1, runningMs: [200], waitingMs: [] };
  const found = estimate({
    ...HERE,
    offer: offerOf({ queue }),
    hop: { medianMs: 3, jitterMs: 1 },
  });
  assert.deepEqual(found.terms, {
    queueMs: 200,
    loadMs: 0,
    evictionMs: 0,
    prefillMs: 100,
    decodeMs: 500,
    hopMs: 3,
  });
  assert.equal(found.estimateMs, 803);
  assert.equal(found.placementMs, 903);
  assert.equal(found.ttftMs, 313);
  const degraded = estimate({
    ...HERE,
    offer: offerOf({ queue }),
    availability: { kind: "degraded", reason: "disk" },
  });
  assert.equal(degraded.factor, 2);
  assert.equal(degraded.estimateMs, 1600);
});

Deno.test("estimate weights a load that pushes something out like a queue, and no other load", () => {
  const rates = { ...offerOf().rates, loadTimeMs: 3000 };
  const cold = offerOf({ state: { kind: "cold" }, rates });
  const placementMs = (evictionMs: number) =>
    estimate({ ...HERE, offer: cold, evictionMs }).placementMs;
  const alone = placementMs(0);
  assert.equal(
    alone,
    estimate({ ...HERE, offer: cold }).estimateMs,
  );
  assert.equal(placementMs(2000), alone + 1.5 * 2000 + 0.5 * 3000);
  assert.equal(
    estimate({ ...HERE, offer: cold, evictionMs: 2000 }).estimateMs,
    alone,
  );
});

Deno.test("estimate loads what is cold, and waits for what is loading while it queues", () => {
  const table = [
    [{ kind: "cold" }, 4000],
    [{ kind: "loading", remainingMs: 900 }, 700],
    [{ kind: "loading", remainingMs: 100 }, 0],
    [{ kind: "warm", loadTimeMs: 4000 }, 0],
  ] as const;
  const queue = { slots: 1, runningMs: [200], waitingMs: [] };
  for (const [state, loadMs] of table) {
    const found = estimate({ ...HERE, offer: offerOf({ state, queue }) });
    assert.equal(found.terms.loadMs, loadMs, state.kind);
  }
});

Deno.test("estimate decodes at the concurrency it would run at, and embeddings not at all", () => {
  const rates = { ...offerOf().rates, tpotMs: [10, 13, 16] };
  const queue = { slots: 4, runningMs: [500], waitingMs: [] };
  const offer = offerOf({ rates, queue });
  assert.equal(estimate({ ...HERE, offer }).terms.decodeMs, 50 * 13);
  assert.equal(tpotAt(rates, 9), 16);
  const embedding = { ...WORK, capability: "embedding" } as const;
  assert.equal(
    estimate({ ...HERE, work: embedding, offer }).terms.decodeMs,
    0,
  );
});
