import assert from "node:assert/strict";
import { attemptIdOf, parseDecisionId } from "../../src/domain/mod.ts";
import { AttemptMemory } from "../../src/router/attempt_memory.ts";
import { DispatchLedger } from "../../src/router/dispatch_ledger.ts";
import { SeenDispatches } from "../../src/router/seen_dispatches.ts";
import { nodeIdOf } from "../fakes/scripted_engine.ts";

const A = nodeIdOf(1);
const B = nodeIdOf(2);

Deno.test("DispatchLedger numbers per member and keeps what is neither seen nor over", () => {
  const ledger = new DispatchLedger();
  assert.deepEqual(
    [
      ledger.open(A, "cpu", 10),
      ledger.open(A, "gpu", 20),
      ledger.open(A, "cpu", 30),
    ],
    [1, 2, 3],
  );
  assert.equal(ledger.open(B, "cpu", 40), 1);
  assert.deepEqual(ledger.unseenMs(A, "cpu", 0), [10, 30]);
  assert.deepEqual(ledger.unseenMs(A, "cpu", 2), [30]);
  // What one device's report holds says nothing of another's, which may be older.
  assert.deepEqual(ledger.unseenMs(A, "gpu", 0), [20]);
  assert.deepEqual(ledger.unseenMs(A, "gpu", 2), []);
  ledger.close(A, 3);
  assert.deepEqual(ledger.unseenMs(A, "cpu", 1), []);
  assert.deepEqual(ledger.unseenMs(B, "cpu", 0), [40]);
});

Deno.test("SeenDispatches keeps the highest number, and begins anew with a new process", () => {
  const seen = new SeenDispatches();
  seen.see(A, 5);
  seen.see(A, 4);
  seen.see(B, 9);
  assert.deepEqual(seen.snapshot(), { [A]: 5, [B]: 9 });
  seen.see(B, 1);
  assert.deepEqual(seen.snapshot(), { [A]: 5, [B]: 1 });
});

Deno.test("AttemptMemory admits an id once in ten minutes", () => {
  const decision = parseDecisionId("00000000-decision");
  assert(decision !== undefined);
  const [first, second] = [attemptIdOf(decision, 1), attemptIdOf(decision, 2)];
  const memory = new AttemptMemory();
  assert.equal(memory.admit(first, 0), true);
  assert.equal(memory.admit(first, 599_999), false);
  assert.equal(memory.admit(second, 599_999), true);
  assert.equal(memory.admit(first, 600_000), true);
});
