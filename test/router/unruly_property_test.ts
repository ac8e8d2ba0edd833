/**
 * Three routers that serve each other, under random requests, leavings, deaths,
 * refusals, drains, cut links and members that come and go: whatever happens,
 * nothing is given twice, kept for good or lost, and every choice replays.
 *
 * @module
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { replay } from "../../scripts/replay/replay.ts";
import type { Caller } from "../fakes/caller.ts";
import { WORDS } from "../fakes/numbered_engine.ts";
import { happen, NODES, SLOWEST_GAP_MS, TURNS } from "../fakes/unruly_turn.ts";
import { UnrulyWorld } from "../fakes/unruly_world.ts";

/**
 * The longest that a request may go on for: four attempts, each as slow as
 * engines get and seen to work for others all the while.
 */
const LONGEST_MS = 4 * 10 * 3 * WORDS * SLOWEST_GAP_MS;
const RUNS = Number(Deno.env.get("COVEY_PROPERTY_RUNS") ?? 30);
/** Rests and breakers are over by then. */
const REST_MS = 3_700_000;

/** All is well again, and nobody asks for more. */
async function calm(world: UnrulyWorld): Promise<void> {
  for (const { away, engine, links, router } of world.nodes) {
    away.clear();
    engine.mood = { kind: "answers", gapMs: 40 };
    router.drain(false);
    for (const link of links) link.cut(false);
  }
  world.poll();
  for (const caller of world.callers) caller.hurry();
  await world.wait(LONGEST_MS);
}

function assertAtRest(world: UnrulyWorld): void {
  for (const caller of world.callers) caller.assertEnded();
  for (const node of world.nodes) node.assertAtRest();
  assert.equal(world.clock.pending, 0, "a timer waits");
}

function assertReplays({ nodes }: UnrulyWorld): void {
  for (const { router } of nodes) {
    for (const decision of router.latestDecisions(1000)) {
      const read = JSON.parse(JSON.stringify(decision));
      assert.equal(replay(read).kind, "same");
    }
  }
}

/** A dispatch that was never taken back would still be counted here. */
async function assertNothingOutstanding(world: UnrulyWorld): Promise<void> {
  await world.wait(REST_MS);
  world.poll();
  for (const [at, { links, router }] of world.nodes.entries()) {
    for (const link of links) link.isBlind = true;
    const { answer } = await asked(world, at);
    for (const link of links) link.isBlind = false;
    const record = answer === null
      ? undefined
      : router.decision(answer.decision);
    assert.equal(record?.candidates.length, NODES);
    for (const { terms } of record.candidates) assert.equal(terms.queueMs, 0);
  }
}

async function asked(world: UnrulyWorld, at: number): Promise<Caller> {
  const caller = world.ask(at, { source: { kind: "local" } });
  await world.wait(1000);
  assert.equal(caller.end, "whole");
  return caller;
}

/** All slots of a node can be had at once, when its breaker has closed after a second success. */
async function assertNoSlotLost(world: UnrulyWorld): Promise<void> {
  for (const [at, { engine, slots }] of world.nodes.entries()) {
    await asked(world, at);
    const callers = Array.from(
      { length: slots },
      () => world.ask(at, { source: { kind: "local" } }),
    );
    await world.wait(1);
    assert.equal(engine.running, slots);
    await world.wait(1000);
    for (const { end } of callers) assert.equal(end, "whole");
  }
}

function countOf({ nodes }: UnrulyWorld, counter: string): number {
  return nodes.flatMap(({ metrics }) =>
    [...metrics.counts].flatMap(([key, count]) =>
      key.startsWith(counter) ? [count] : []
    )
  ).reduce((sum, count) => sum + count, 0);
}

Deno.test("whatever happens to requests, engines and members, each request ends once, and nothing is given twice or kept", async () => {
  await fc.assert(
    fc.asyncProperty(TURNS, async (all) => {
      const world = new UnrulyWorld();
      for (const turn of all) {
        await happen(world, turn);
        for (const node of world.nodes) node.assertBounds();
      }
      await calm(world);
      assertAtRest(world);
      assertReplays(world);
      const sent = world.nodes.flatMap(({ engine }) => engine.asked);
      assert.equal(new Set(sent).size, sent.length, "an attempt ran twice");
      await assertNothingOutstanding(world);
      await assertNoSlotLost(world);
      assert.equal(
        countOf(world, "covey_requests_total"),
        world.callers.length,
      );
      const attempts = world.nodes.flatMap(({ router }) =>
        router.latestDecisions(1000).flatMap(({ attempts }) => attempts)
      );
      assert.equal(countOf(world, "covey_attempts_total"), attempts.length);
    }),
    { numRuns: RUNS },
  );
});

Deno.test("whatever is under way, disposing the routers ends it, once", async () => {
  await fc.assert(
    fc.asyncProperty(TURNS, async (all) => {
      const world = new UnrulyWorld();
      for (const turn of all) await happen(world, turn);
      const disposed = Promise.all(
        world.nodes.map(({ router }) => router[Symbol.asyncDispose]()),
      );
      for (const caller of world.callers) caller.hurry();
      // What is on its way over a link takes its time.
      await world.wait(10_000);
      await disposed;
      assertAtRest(world);
    }),
    { numRuns: RUNS },
  );
});
