import type { Attempt, Engine, Offer } from "../../src/domain/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { createRouter, type OwnedRouter } from "../../src/router/mod.ts";
import { CountingMetrics } from "./counting_metrics.ts";
import { QuietLog } from "./quiet_log.ts";
import {
  nodeIdOf,
  offerOf,
  type Script,
  ScriptedEngine,
} from "./scripted_engine.ts";

/** How one engine of a test answers. */
export type Behaviour = (attempt: Attempt, n: number) => Script;

/** What a test wants otherwise. */
export interface SetupOptions {
  readonly policy?: "local_first" | "balanced";
  readonly maxQueue?: number;
  readonly offers?: readonly Offer[];
  readonly peerOffers?: readonly Offer[];
}

/** A router of node 1 with one local engine and peers from node 2 on, all scripted. */
export interface RouterSetup {
  readonly clock: ManualClock;
  readonly router: OwnedRouter;
  readonly metrics: CountingMetrics;
  readonly log: QuietLog;
  readonly local: ScriptedEngine;
  readonly peers: readonly ScriptedEngine[];
}

/**
 * Set up a router.
 *
 * @param local How this node's engine answers.
 * @param peers How each peer's engine answers; each is a little slower than the one before.
 * @param options Policy, queue limit and offers.
 */
export function setUpRouter(
  local: Behaviour,
  peers: readonly Behaviour[] = [],
  options: SetupOptions = {},
): RouterSetup {
  const clock = new ManualClock();
  const metrics = new CountingMetrics();
  const log = new QuietLog();
  const offers = options.offers ?? [offerOf()];
  const engine = new ScriptedEngine({
    clock,
    node: nodeIdOf(1),
    offers,
    script: local,
  });
  const others = peers.map((script, index) => {
    const peer = new ScriptedEngine({
      clock,
      node: nodeIdOf(index + 2),
      offers: options.peerOffers ?? offers,
      script,
    });
    peer.hop = { medianMs: 200 * (index + 1), jitterMs: 0 };
    return peer;
  });
  const engines: readonly Engine[] = others;
  const router = createRouter({
    self: { id: nodeIdOf(1), name: "node-1" },
    localEngines: [engine],
    peers: () => engines,
    policy: options.policy ?? "local_first",
    maxQueue: options.maxQueue ?? 64,
    clock,
    entropy: createSeededEntropy(7),
    log,
    metrics,
  });
  return { clock, router, metrics, log, local: engine, peers: others };
}
