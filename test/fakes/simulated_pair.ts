import type {
  Attempt,
  Engine,
  EngineView,
  Hop,
  NodeId,
  StartResult,
} from "../../src/domain/mod.ts";
import { createSimulatedEngine } from "../../src/engines/simulated/simulated_engine.ts";
import type {
  SimulatedModel,
  SimulatedSettings,
} from "../../src/engines/simulated/simulated_settings.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import {
  createRouter,
  type OwnedRouter,
  type RouterOptions,
} from "../../src/router/router.ts";
import { CountingMetrics } from "./counting_metrics.ts";
import { QuietLog } from "./quiet_log.ts";
import { nodeIdOf } from "./scripted_engine.ts";

/** A chat model: 1,000 tokens/s prefill, 10 ms a token, two slots. */
export const CHAT: SimulatedModel = {
  id: "m",
  capability: "chat",
  loadMs: 0,
  prefillTokensPerSecond: 1000,
  decodeTokensPerSecond: 100,
  batchSlowdown: 0,
  noise: 0,
  slots: 2,
  contextLength: 8192,
};

/** A simulated engine of one node, as a router sees it over a hop. */
export class FarEngine implements Engine {
  readonly node: NodeId;
  readonly nodeName: string;
  readonly id = "sim";
  readonly #engine: Engine;
  readonly #hop: Hop;
  #dispatchesSeen = 0;

  constructor(engine: Engine, hopMs: number) {
    this.node = engine.node;
    this.nodeName = engine.nodeName;
    this.#engine = engine;
    this.#hop = { medianMs: hopMs, jitterMs: 0 };
  }

  view(): EngineView {
    return {
      ...this.#engine.view(),
      hop: this.#hop,
      dispatchesSeen: this.#dispatchesSeen,
    };
  }

  async start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    const started = await this.#engine.start(attempt, signal);
    this.#dispatchesSeen = Math.max(this.#dispatchesSeen, attempt.dispatch);
    return started;
  }
}

/** What a test wants of its nodes. */
export interface SimulatedNodesOptions {
  readonly models: readonly SimulatedModel[];
  /** Faults of each node's engine; the first is this node's. */
  readonly faults: readonly Partial<SimulatedSettings["faults"]>[];
  readonly hopMs?: number;
  readonly router?: Partial<RouterOptions>;
}

/** A router of node 1 with its own simulated engine and one at each further node. */
export interface SimulatedNodes extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly router: OwnedRouter;
  readonly engines: readonly Engine[];
  readonly metrics: CountingMetrics;
}

/** Set up nodes whose engines have these faults. */
export function simulatedNodes(options: SimulatedNodesOptions): SimulatedNodes {
  const clock = new ManualClock();
  const metrics = new CountingMetrics();
  const engines = options.faults.map((faults, index) =>
    createSimulatedEngine({
      clock,
      entropy: createSeededEntropy(index + 1),
      node: nodeIdOf(index + 1),
      nodeName: `node-${index + 1}`,
      config: {
        kind: "simulated",
        id: "sim",
        models: options.models,
        faults: { errorRate: 0, stallMs: 0, dieAfterTokens: null, ...faults },
      },
    })
  );
  const peers = engines.slice(1).map((engine) =>
    new FarEngine(engine, options.hopMs ?? 1)
  );
  const router = createRouter({
    self: { id: nodeIdOf(1), name: "node-1" },
    localEngines: engines.slice(0, 1),
    peers: () => peers,
    policy: "balanced",
    maxQueue: 64,
    clock,
    entropy: createSeededEntropy(7),
    log: new QuietLog(),
    metrics,
    ...options.router,
  });
  return {
    clock,
    router,
    engines,
    metrics,
    async [Symbol.asyncDispose]() {
      await router[Symbol.asyncDispose]();
      await Promise.all(
        engines.map((engine) => engine[Symbol.asyncDispose]()),
      );
    },
  };
}

/** Move time on in small steps until something is there. */
export async function until<Result>(
  clock: ManualClock,
  work: Promise<Result>,
  stepMs = 20,
): Promise<Result> {
  let over = false;
  work.then(() => over = true, () => over = true);
  for (let steps = 0; !over && steps < 100_000; steps++) {
    await clock.advance(stepMs);
  }
  return await work;
}
