import assert from "node:assert/strict";
import type { Attempt, Engine } from "../../src/domain/mod.ts";
import { ManualClock } from "../../src/platform/mod.ts";
import { DeviceQueues } from "../../src/router/device_queues.ts";
import { QueuedEngine } from "../../src/router/queued_engine.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import {
  answering,
  DONE,
  finish,
  nodeIdOf,
  offerOf,
  ROLE,
  ScriptedEngine,
  text,
} from "../fakes/scripted_engine.ts";

const NEVER = new AbortController().signal;
const SELF = "self-measurement";

function setUp(isMeasurable: boolean) {
  const clock = new ManualClock();
  const scripted = new ScriptedEngine({
    clock,
    node: nodeIdOf(1),
    offers: [offerOf()],
    script: ({ request }: Attempt) =>
      request.client === SELF
        ? {
          kind: "answer",
          steps: [
            ROLE,
            ...Array.from({ length: 32 }, () => [{ waitMs: 40 }, text("w")])
              .flat(),
            finish(),
            DONE,
          ],
        }
        : answering("yes"),
  });
  const raw: Engine = {
    node: scripted.node,
    nodeName: scripted.nodeName,
    id: scripted.id,
    isMeasurable,
    view: () => scripted.view(),
    start: (attempt, signal) => scripted.start(attempt, signal),
  };
  const engine = new QueuedEngine(raw, {
    clock,
    queues: new DeviceQueues(clock),
    maxQueue: 8,
  });
  const ask = async () => {
    const started = await engine.start(buildAttempt("m"), NEVER);
    assert(started.kind === "accepted");
    await new Response((await started.answer()).body).text();
  };
  const measured = () =>
    scripted.attempts.filter(({ request }) => request.client === SELF).length;
  const tpot = () => engine.view().offers[0]?.rates.tpotMs[0];
  return { clock, engine, ask, measured, tpot, scripted };
}

Deno.test("a node measures a model whose first answer showed no speed, once, when it is idle", async () => {
  const { ask, clock, measured, tpot } = setUp(true);
  await ask();
  await clock.advance(900);
  assert.equal(measured(), 0);
  await clock.advance(2000);
  assert.equal(measured(), 1);
  assert.equal(Math.round(tpot() ?? 0), 40);
  await ask();
  await clock.advance(5000);
  assert.equal(measured(), 1);
  assert.equal(clock.pending, 0);
});

Deno.test("a real request ends a measurement at once, and has the slot", async () => {
  const { ask, clock, engine, measured, scripted } = setUp(true);
  await ask();
  await clock.advance(1500);
  assert.equal(measured(), 1);
  assert.equal(scripted.running, 1);
  const asked = ask();
  await clock.advance(10);
  await asked;
  assert.equal(scripted.stopped, 1);
  assert.equal(engine.heldFor(() => true), 0);
  engine[Symbol.dispose]();
  assert.equal(clock.pending, 0);
});

Deno.test("an engine that is not this node's to try is never measured", async () => {
  const { ask, clock, measured } = setUp(false);
  await ask();
  await clock.advance(10_000);
  assert.equal(measured(), 0);
});
