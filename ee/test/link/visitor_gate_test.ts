import assert from "node:assert/strict";
import { ManualClock } from "@covey/core/platform";
import { type Visit, VisitorGate } from "../../src/link/visitor_gate.ts";

const ANNA = "192.0.2.1";

function enterMany(gate: VisitorGate, address: string, count: number): Visit[] {
  return Array.from({ length: count }, () => gate.enter(address, () => {}))
    .filter((visit) => visit !== undefined);
}

Deno.test("VisitorGate lets 4 strangers in from an address and 64 in all", () => {
  const gate = new VisitorGate(new ManualClock());
  assert.equal(enterMany(gate, ANNA, 9).length, 4);
  for (let n = 2; n < 60; n++) enterMany(gate, `192.0.2.${n}`, 4);
  assert.equal(gate.strangers, 64);
});

Deno.test("VisitorGate lets a member's address open many at once, but not all there are", () => {
  const gate = new VisitorGate(new ManualClock());
  enterMany(gate, ANNA, 1)[0]?.becomeMember();
  const visits = enterMany(gate, ANNA, 600);
  assert.equal(visits.length, 256);
  for (const visit of visits) visit.becomeMember();
  assert.equal(enterMany(gate, ANNA, 600).length, 256);
  assert.equal(enterMany(gate, "192.0.2.2", 9).length, 4);
});

Deno.test("VisitorGate turns away for 5 s who breaks off handshakes without end", async () => {
  const clock = new ManualClock();
  const gate = new VisitorGate(clock);
  let entered = 0;
  for (let n = 0; n < 100; n++) {
    const visit = gate.enter(ANNA, () => {});
    if (visit === undefined) break;
    entered++;
    visit[Symbol.dispose]();
  }
  assert.equal(entered, 16);
  // Others are not held to account for it.
  assert.equal(enterMany(gate, "192.0.2.2", 9).length, 4);
  await clock.advance(5000);
  assert.equal(enterMany(gate, ANNA, 1).length, 1);
});

Deno.test("VisitorGate forgets a finished handshake at once", () => {
  const gate = new VisitorGate(new ManualClock());
  for (let n = 0; n < 100; n++) {
    const visit = gate.enter(ANNA, () => {});
    assert.equal(visit?.becomeStranger(), true);
    visit?.[Symbol.dispose]();
  }
  assert.equal(gate.strangers, 0);
});
