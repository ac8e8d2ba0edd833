/**
 * The rules of others, from their published formulas. Each gets what Covey's
 * gets: reports every poll, its own dispatches counted at once, another node
 * after a failure.
 *
 * @module
 */
import type { Sight, SimulatedEntry } from "../entry.ts";
import { DECODE_PER_SECOND, PREFILL_PER_SECOND } from "../scenario.ts";
import type { Job } from "../workload.ts";
import type { RoutingRule, World } from "./policy.ts";

/** Nodes in turn, one counter per entry. */
export const ROUND_ROBIN: RoutingRule = {
  name: "round_robin",
  about: "nodes in turn",
  discipline: "first_come",
  create: (world) => {
    const next = new Map<SimulatedEntry, number>();
    return {
      choose(entry, job, tried) {
        for (let away = 0; away < world.nodes; away++) {
          const index = (next.get(entry) ?? 0) % world.nodes;
          next.set(entry, index + 1);
          if (!tried.has(index)) return chosen(entry.sight(index), job);
        }
        return null;
      },
    };
  },
};

/** Fewest requests in flight, ties drawn. */
export const LEAST_CONNECTIONS: RoutingRule = rule(
  "least_connections",
  "fewest in flight",
  (sight) => sight.inFlight,
);

/** The less busy of two drawn. */
export const POWER_OF_TWO: RoutingRule = {
  name: "power_of_two",
  about: "fewer in flight of two drawn",
  discipline: "first_come",
  create: (world) => ({
    choose(entry, job, tried) {
      const left: number[] = [];
      for (let index = 0; index < world.nodes; index++) {
        if (!tried.has(index)) left.push(index);
      }
      const draw = () => {
        const at = Math.floor(world.uniform() * left.length);
        return left.splice(at, 1)[0];
      };
      const [first, second] = [draw(), draw()];
      if (first === undefined) return null;
      const one = entry.sight(first);
      if (second === undefined) return chosen(one, job);
      const other = entry.sight(second);
      return chosen(other.inFlight < one.inFlight ? other : one, job);
    },
  }),
};

const KV_WEIGHT_MS = 150;
/** Share of the cache that a full set of slots takes. */
const KV_FULL = 0.8;

/**
 * SMG least_load: (queued tokens + own dispatched) ÷ throughput + λ·k/(1−k).
 * Kinder than the original: work instead of bare tokens, reports as fresh as Covey's.
 */
export const SMG_LEAST_LOAD: RoutingRule = rule(
  "smg_least_load",
  "shortest drain time",
  (sight) => {
    const cache = Math.min(0.95, KV_FULL * sight.inFlight / sight.slots);
    return sight.workMs / sight.slots *
        (1 + sight.batchSlowdown * (sight.slots - 1)) +
      KV_WEIGHT_MS * cache / (1 - cache);
  },
);

const UNKNOWN_AFTER_MS = 10_000;

/** Personal AI Router: pending jobs + pressure 0–3 at 40, 70, 85 %; unknown counts 1. */
export const PAIR_RANK: RoutingRule = rule(
  "pair_rank",
  "pending jobs + GPU pressure",
  (sight) => sight.inFlight + pressure(sight),
);

function pressure({ ageMs, busy }: Sight): number {
  if (ageMs > UNKNOWN_AFTER_MS) return 1;
  if (busy > 0.85) return 3;
  if (busy > 0.7) return 2;
  return busy > 0.4 ? 1 : 0;
}

/**
 * Herd: hot 50 or cold 10, memory fit 20, queue −6 each over relative bandwidth
 * (at most −30), wait −1 per 10 s of depth × p75 (at most −25), size against
 * bandwidth up to 25, availability 10. The highest wins.
 */
export const HERD_SCORE: RoutingRule = {
  name: "herd_score",
  about: "Herd's sum of points",
  discipline: "first_come",
  create: (world) => ({
    choose(entry, job, tried) {
      const sights = sightsOf(world, entry, tried);
      const speeds = sights.map(({ speed }) => speed).toSorted((a, b) => a - b);
      const median = speeds[Math.floor(speeds.length / 2)] ?? 1;
      const top = speeds.at(-1) ?? 1;
      return lowest(world, sights, job, (sight) => {
        const relative = Math.min(4, Math.max(0.25, sight.speed / median));
        const isHot = sight.warm.has(job.model);
        const fits = isHot || sight.warm.size < sight.room;
        return -(isHot ? 50 : 10) - (fits ? 20 : 5) +
          Math.min(30, 6 * sight.waiting / relative) +
          Math.min(25, sight.waiting * sight.p75Ms / 10_000) -
          25 * sight.speed / top - 10;
      });
    },
  }),
};

function rule(
  name: string,
  about: string,
  score: (sight: Sight) => number,
): RoutingRule {
  return {
    name,
    about,
    discipline: "first_come",
    create: (world) => ({
      choose: (entry, job, tried) =>
        lowest(world, sightsOf(world, entry, tried), job, score),
    }),
  };
}

function sightsOf(
  world: World,
  entry: SimulatedEntry,
  tried: ReadonlySet<number>,
): Sight[] {
  const sights: Sight[] = [];
  for (let index = 0; index < world.nodes; index++) {
    if (!tried.has(index)) sights.push(entry.sight(index));
  }
  return sights;
}

/** Ties are drawn, or the first node would get them all. */
function lowest(
  world: World,
  sights: readonly Sight[],
  job: Job,
  score: (sight: Sight) => number,
) {
  let best: Sight | null = null;
  let least = Infinity;
  let equals = 0;
  for (const sight of sights) {
    const value = score(sight);
    if (value > least) continue;
    equals = value < least ? 1 : equals + 1;
    if (value === least && world.uniform() * equals >= 1) continue;
    best = sight;
    least = value;
  }
  return best === null ? null : chosen(best, job);
}

function chosen(sight: Sight, job: Job) {
  const expectedMs = (job.promptTokens / PREFILL_PER_SECOND +
    job.meanTokens / DECODE_PER_SECOND) * 1000 / sight.speed;
  return { index: sight.index, expectedMs, cachedTokens: 0, predicted: null };
}
