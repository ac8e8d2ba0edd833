import type { Engine, NodeId } from "../../src/domain/mod.ts";
import {
  createSeededEntropy,
  type ManualClock,
} from "../../src/platform/mod.ts";
import { createRouter, type OwnedRouter } from "../../src/router/mod.ts";
// What a router loads with its first prompt is here beforehand: loading takes
// real time, which a test's clock knows nothing of.
import "../../src/router/prefix_chain.ts";
import { CountingMetrics } from "./counting_metrics.ts";
import { QuietLog } from "./quiet_log.ts";
import {
  answeringIn,
  offerOf,
  type Script,
  ScriptedEngine,
} from "./scripted_engine.ts";

export type { OwnedRouter };

/** A real router with one engine of one slot, which takes some time over each answer. */
export class ScriptedNode {
  readonly metrics = new CountingMetrics();
  readonly #node: NodeId;
  readonly #tookMs: (n: number) => number;
  /** How its node's own requests are answered; absent where it makes none. */
  readonly #test: (() => Script) | undefined;
  #engine: ScriptedEngine | null = null;

  /**
   * @param node Its id.
   * @param tookMs What each answer takes, counted from 1.
   * @param test How its engine answers a test task; absent where its node may
   *   run nothing of its own on it.
   */
  constructor(
    node: NodeId,
    tookMs: (n: number) => number,
    test?: () => Script,
  ) {
    this.#node = node;
    this.#tookMs = tookMs;
    this.#test = test;
  }

  /** Its engine, once its router is made. */
  get engine(): ScriptedEngine {
    if (this.#engine === null) throw new Error("It has no router yet");
    return this.#engine;
  }

  /**
   * Make its router.
   *
   * @param peers The other nodes' engines.
   * @param clock Time.
   */
  createRouter(
    peers: () => readonly Engine[],
    clock: ManualClock,
  ): OwnedRouter {
    this.#engine = new ScriptedEngine({
      clock,
      node: this.#node,
      isMeasurable: this.#test !== undefined,
      offers: [offerOf()],
      script: ({ request }, n) =>
        request.client === "test-task" && this.#test !== undefined
          ? this.#test()
          : answeringIn(this.#tookMs(n), 100),
    });
    return createRouter({
      self: { id: this.#node, name: this.#node.slice(-4) },
      localEngines: [this.#engine],
      peers,
      policy: "balanced",
      maxQueue: 64,
      clock,
      entropy: createSeededEntropy(Number(this.#node.slice(-4))),
      log: new QuietLog(),
      metrics: this.metrics,
    });
  }
}
