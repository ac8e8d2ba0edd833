import assert from "node:assert/strict";
import type { Engine, NodeId } from "../../src/domain/mod.ts";
import {
  createSeededEntropy,
  type ManualClock,
} from "../../src/platform/mod.ts";
import { createRouter, type OwnedRouter } from "../../src/router/mod.ts";
// Loaded with the first prompt, which takes real time that the clock knows nothing of.
import "../../src/router/prefix_chain.ts";
import { CountingMetrics } from "./counting_metrics.ts";
import { NumberedEngine } from "./numbered_engine.ts";
import { QuietLog } from "./quiet_log.ts";
import { offerOf } from "./scripted_engine.ts";

/** Attempts that may wait for a node's model. */
export const MOST_WAITING = 3;

/** What a numbered node is made of. */
export interface NumberedNodeOptions {
  readonly id: NodeId;
  readonly slots: number;
  readonly clock: ManualClock;
  /** The other nodes' engines. */
  peers(): readonly Engine[];
}

/** A real router with one engine whose answers are numbers. */
export class NumberedNode {
  readonly id: NodeId;
  readonly slots: number;
  readonly engine: NumberedEngine;
  readonly metrics: CountingMetrics = new CountingMetrics();
  readonly router: OwnedRouter;

  /** @param options Its place among others. */
  constructor({ clock, id, peers, slots }: NumberedNodeOptions) {
    this.id = id;
    this.slots = slots;
    this.engine = new NumberedEngine(clock, id, [
      offerOf({
        root: "f".repeat(64),
        capabilities: ["chat", "embedding"],
        features: ["resume"],
        queue: { slots, runningMs: [], waitingMs: [] },
      }),
    ]);
    const digit = Number(id.at(-1));
    this.router = createRouter({
      self: { id, name: `node-${digit}` },
      localEngines: [this.engine],
      peers,
      policy: "balanced",
      maxQueue: MOST_WAITING,
      clock,
      entropy: createSeededEntropy(digit),
      log: new QuietLog(),
      metrics: this.metrics,
    });
  }
  /** What holds at any time. */
  assertBounds(): void {
    const { engine, metrics, slots } = this;
    assert(engine.running <= slots, `${engine.running} of ${slots} slots`);
    const waiting = metrics.gaugeOf("covey_queue_waiting");
    assert(waiting <= MOST_WAITING, `${waiting} wait`);
    const running = metrics.gaugeOf("covey_queue_running");
    assert(running <= slots, `${running} run`);
  }

  /** What holds when nobody asks for anything. */
  assertAtRest(): void {
    const { engine, metrics, router } = this;
    assert.equal(router.inFlight(), 0);
    assert.equal(engine.running, 0);
    assert.equal(metrics.gaugeOf("covey_queue_waiting"), 0);
    assert.equal(metrics.gaugeOf("covey_queue_running"), 0);
    for (const { actual, attempts } of router.latestDecisions(1000)) {
      assert.notEqual(actual, null);
      for (const { outcome } of attempts) assert.notEqual(outcome, "running");
    }
  }
}
