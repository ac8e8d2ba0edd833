import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { InferenceRequest, NodeId } from "../../src/domain/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { createRouter, type OwnedRouter } from "../../src/router/mod.ts";
// Loaded with the first prompt, which takes real time that the clock knows nothing of.
import "../../src/router/prefix_chain.ts";
import { Caller } from "./caller.ts";
import { chatRequest } from "./chat_request.ts";
import { CountingMetrics } from "./counting_metrics.ts";
import { NumberedEngine } from "./numbered_engine.ts";
import { QuietLog } from "./quiet_log.ts";
import { nodeIdOf, offerOf } from "./scripted_engine.ts";
import { UnrulyLink } from "./unruly_link.ts";

/** Attempts that may wait for a node's model. */
export const MOST_WAITING = 3;
const SLOTS: readonly number[] = [1, 2, 1];
/** How many nodes there are. */
export const NODES: number = SLOTS.length;
/** Turns of the event loop until what a wake-up began waits again. */
const TURNS = 3;

/** One node of the world. */
export interface UnrulyNode {
  readonly id: NodeId;
  readonly slots: number;
  readonly engine: NumberedEngine;
  readonly router: OwnedRouter;
  readonly metrics: CountingMetrics;
  /** Its ways to the others. */
  readonly links: readonly UnrulyLink[];
  /** Nodes that it does not know at the moment. */
  readonly away: Set<NodeId>;
}

/** Three nodes with real routers, each an entry of its own, on one clock. */
export class UnrulyWorld {
  readonly clock = new ManualClock(undefined, turns);
  readonly nodes: readonly UnrulyNode[];
  readonly callers: Caller[] = [];

  constructor() {
    const made: UnrulyNode[] = [];
    const links: UnrulyLink[][] = SLOTS.map(() => []);
    for (const [at, slots] of SLOTS.entries()) {
      const id = nodeIdOf(at + 1);
      const engine = new NumberedEngine(this.clock, id, [
        offerOf({
          root: "f".repeat(64),
          capabilities: ["chat", "embedding"],
          features: ["resume"],
          queue: { slots, runningMs: [], waitingMs: [] },
        }),
      ]);
      const metrics = new CountingMetrics();
      const away = new Set<NodeId>();
      const router = createRouter({
        self: { id, name: `node-${at + 1}` },
        localEngines: [engine],
        peers: () => links[at]?.filter(({ node }) => !away.has(node)) ?? [],
        policy: "balanced",
        maxQueue: MOST_WAITING,
        clock: this.clock,
        entropy: createSeededEntropy(at + 1),
        log: new QuietLog(),
        metrics,
      });
      made.push({
        id,
        slots,
        engine,
        router,
        metrics,
        links: links[at] ?? [],
        away,
      });
    }
    for (const [at, from] of made.entries()) {
      for (const to of made) {
        if (to === from) continue;
        links[at]?.push(
          new UnrulyLink(this.clock, from.id, to.id, to.router),
        );
      }
    }
    this.nodes = made;
  }

  /** A node by its number from 0. */
  node(at: number): UnrulyNode {
    return this.nodes[at] ?? assert.fail();
  }

  /** A client asks a node; it reads all that comes unless told otherwise. */
  ask(at: number, part: Partial<InferenceRequest>, isLazy = false): Caller {
    const { router } = this.node(at);
    const caller = new Caller(router, chatRequest(part), isLazy);
    this.callers.push(caller);
    return caller;
  }

  /** Let time go by, and see to it that nothing goes wrong meanwhile. */
  async wait(ms: number): Promise<void> {
    await this.clock.advance(ms);
    this.assertBounds();
  }

  /** All nodes hear of each other. */
  poll(): void {
    for (const { links } of this.nodes) for (const link of links) link.poll();
  }

  /** What holds at any time. */
  assertBounds(): void {
    for (const { engine, metrics, slots } of this.nodes) {
      assert(engine.running <= slots, `${engine.running} of ${slots} slots`);
      const waiting = metrics.gaugeOf("covey_queue_waiting");
      assert(waiting <= MOST_WAITING, `${waiting} wait`);
      const running = metrics.gaugeOf("covey_queue_running");
      assert(running <= slots, `${running} run`);
    }
  }
}

async function turns(): Promise<void> {
  for (let count = 0; count < TURNS; count++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
