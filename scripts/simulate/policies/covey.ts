import type { Demand, EngineSnapshot } from "../../../src/router/candidate.ts";
import { demandOf } from "../../../src/router/demand.ts";
import { serviceMs } from "../../../src/router/estimate.ts";
import { parseModelName } from "../../../src/router/model_name.ts";
import { place, type Placement } from "../../../src/router/place.ts";
import type { SimulatedEntry } from "../entry.ts";
import { requestOf } from "../flight_moves.ts";
import { workOf } from "../simulated_node.ts";
import type { Job } from "../workload.ts";
import type { Choice, RoutingRule, World } from "./policy.ts";

/** The router's own decider, on what the entry knows. */
export const COVEY_EARLY: RoutingRule = {
  name: "covey_early",
  about: "Covey's placement, bound at once",
  discipline: "covey",
  create: (world) => ({
    choose: (entry, job, tried) => choice(weigh(world, entry, job, tried), job),
  }),
};

/** The same with what waits free to move. */
export const COVEY: RoutingRule = {
  name: "covey",
  about: "Covey's placement; what waits may move",
  discipline: "covey",
  create: (world) => ({
    choose: (entry, job, tried, target) =>
      choice(weigh(world, entry, job, tried), job, target),
    weigh: (entry, job, tried) => weigh(world, entry, job, tried).placement,
  }),
};

interface Weighed {
  readonly demand: Demand;
  readonly indexes: ReadonlyMap<string, number>;
  readonly placement: Placement;
}

function weigh(
  world: World,
  entry: SimulatedEntry,
  job: Job,
  tried: ReadonlySet<number>,
): Weighed {
  const indexes = new Map<string, number>();
  const engines: EngineSnapshot[] = [];
  const cached = entry.cachedTokens(job);
  for (let index = 0; index < world.nodes; index++) {
    if (tried.has(index)) continue;
    const snapshot = entry.snapshot(index, cached);
    indexes.set(snapshot.key, index);
    engines.push(snapshot);
  }
  const demand = demandFor(world, entry, job, engines);
  const placement = place({
    demand,
    engines,
    self: entry.node.id,
    policy: world.policy,
    seed: job.seed,
  });
  return { demand, indexes, placement };
}

function choice(
  { demand: { expected }, indexes, placement }: Weighed,
  job: Job,
  target: string | null = null,
): Choice | null {
  if (placement.kind === "nowhere") return null;
  const { first } = placement;
  const { engine, offer, estimate, cachedTokens } = target === null
    ? first
    : placement.find(target) ?? first;
  const index = indexes.get(engine.key);
  if (index === undefined) return null;
  const { slots, runningMs } = offer.queue;
  return {
    index,
    // A load that somebody before it waits for is not its own.
    expectedMs: estimate.terms.loadMs + serviceMs(
      workOf(job, expected.meanTokens, cachedTokens),
      { ...offer, state: { kind: "warm", loadTimeMs: null } },
      Math.min(runningMs.length + 1, slots),
    ),
    cachedTokens,
    predicted: {
      totalMs: estimate.estimateMs,
      ttftMs: estimate.ttftMs,
      tpotMs: estimate.tpotMs,
      outputTokens: expected.medianTokens,
      p80Ms: expected.p80Tokens === undefined ? null : estimate.p80Ms,
    },
  };
}

/** A forecast of the scenario stands for what a client's history would tell. */
function demandFor(
  world: World,
  entry: SimulatedEntry,
  job: Job,
  engines: readonly EngineSnapshot[],
): Demand {
  if (world.learnsLengths) {
    return demandOf(requestOf(job), engines, entry.lengths);
  }
  const { meanTokens, medianTokens } = job;
  return {
    model: parseModelName(job.model),
    capability: "chat",
    source: { kind: "unsaid" },
    promptTokens: job.promptTokens,
    inputCount: 1,
    needs: [],
    expected: { meanTokens, medianTokens },
  };
}
