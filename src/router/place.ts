import type {
  CandidateRecord,
  Capability,
  Fault,
  NodeId,
  Offer,
} from "../domain/mod.ts";
import { type AskedOffer, askedOffers } from "./asked_offers.ts";
import type {
  Candidate,
  Demand,
  Doubt,
  EngineSnapshot,
  Unfit,
} from "./candidate.ts";
import { evictionMs, WarmCopies } from "./eviction.ts";
import { type Estimate, estimate } from "./estimate.ts";
import { isAllowedBy, longestInput, unfitness } from "./fitness.ts";
import { type ModelName, tierOf } from "./model_name.ts";
import { noCandidateFault } from "./no_candidate.ts";
import { type Policy, preferred } from "./preference.ts";

/** Everything a placement rests on. */
export interface PlaceInput {
  readonly demand: Demand;
  readonly engines: readonly EngineSnapshot[];
  readonly self: NodeId;
  readonly policy: Policy;
  /** Recorded with the decision; draws among equals. */
  readonly seed: number;
}

/** Where a request should run. */
export type Placement =
  | {
    readonly kind: "placed";
    /** Eligible candidates, the one to ask first at the front; never empty. */
    readonly order: readonly [Candidate, ...Candidate[]];
    readonly candidates: readonly CandidateRecord[];
  }
  | {
    readonly kind: "nowhere";
    readonly fault: Fault;
    readonly candidates: readonly CandidateRecord[];
  };

/** A decision of a thousand candidates would be remembered at their expense. */
const MOST_RECORDED = 64;
/** A prompt's length is often a guess: an engine this much too small may still be asked. */
const COUNTING_DOUBT = 2;

/**
 * Decide where a request should run: filter, estimate, order. Pure: the same
 * input gives the same placement, in the node, in a replay and in a simulation.
 *
 * @param input Request, engines, policy and seed.
 * @returns Candidates in order, or why there is none.
 */
export function place(input: PlaceInput): Placement {
  const candidates = readmitted(weighed(input), input.demand);
  const eligible = candidates.filter((one) => one.unfit === null);
  const order = tiersOf(eligible).flatMap((tier) =>
    preferred(tier, {
      source: input.demand.source,
      policy: input.policy,
      self: input.self,
      seed: input.seed,
    })
  );
  const [first, ...rest] = order;
  const records = recorded(candidates, order).map((one) =>
    recordOf(one, first, input.self)
  );
  if (first !== undefined) {
    return { kind: "placed", order: [first, ...rest], candidates: records };
  }
  const { source } = input.demand;
  const fault = noCandidateFault(input.demand, candidates, {
    nodeIsKnown: input.engines.some((engine) =>
      isAllowedBy(source, engine, input.self)
    ),
  });
  return { kind: "nowhere", fault, candidates: records };
}

function weighed(input: PlaceInput): Candidate[] {
  const { demand, self } = input;
  const { medianTokens, p80Tokens } = demand.expected;
  const work = {
    capability: demand.capability,
    promptTokens: demand.promptTokens,
    outputTokens: medianTokens,
    p80OutputTokens: p80Tokens ?? medianTokens,
  };
  const candidates: Candidate[] = [];
  const copies = new WarmCopies(input.engines);
  const asked = askedOffers(demand.model, input.engines);
  for (const [at, engine] of input.engines.entries()) {
    for (const { tier, offer } of bestOf(asked[at] ?? [], demand)) {
      const cachedTokens = offer.state.kind === "warm"
        ? engine.cachedTokens?.(offer.model) ?? 0
        : 0;
      const correction = engine.correction?.(offer.model) ?? 1;
      const predicted = estimate({
        work: { ...work, cachedTokens },
        offer,
        availability: engine.view.availability,
        hop: engine.view.hop,
        unseenMs: engine.unseenMs(offer.device),
        evictionMs: evictionMs(offer, engine, copies),
        correction,
        unseenModel: engine.unseenModel?.(offer.device) ?? null,
      });
      candidates.push({
        engine,
        offer,
        unfit: unfitness(demand, engine, offer, self),
        tier,
        correction,
        cachedTokens,
        estimate: doubted(predicted, engine.doubt ?? null),
      });
    }
  }
  return candidates;
}

/**
 * Whoever fails at once looks idle, and whoever hangs looks as quick as ever:
 * an engine must be sooner by as much again for each recent failure, and by the
 * time that the latest one cost (RTE-03, PRC-06). Its prediction stays as it is.
 */
function doubted(predicted: Estimate, doubt: Doubt | null): Estimate {
  if (doubt === null || doubt.errors === 0) return predicted;
  const placementMs = predicted.placementMs * (1 + doubt.errors) +
    doubt.lostMs;
  return { ...predicted, placementMs };
}

/**
 * An engine's best offer in each set of the asked name: the right capability
 * wins, then the spelling that was asked for, then any name over equal weights.
 */
function bestOf(
  offers: readonly AskedOffer[],
  { model, capability }: Demand,
): readonly AskedOffer[] {
  if (offers.length < 2) return offers;
  const found: AskedOffer[] = [];
  for (const one of offers) {
    const at = found.findIndex(({ tier }) => tier === one.tier);
    const best = found[at]?.offer;
    if (best === undefined) found.push(one);
    else if (
      rank(one.offer, model, capability) > rank(best, model, capability)
    ) found[at] = one;
  }
  return found;
}

function rank(offer: Offer, name: ModelName, capability: Capability): number {
  return (offer.capabilities.includes(capability) ? 4 : 0) +
    (offer.model === name.asked ? 2 : 0) +
    (tierOf(name, offer.model, offer.isPaid) === null ? 0 : 1);
}

/** Fallbacks serve only when nobody of an earlier set can. */
function tiersOf(candidates: readonly Candidate[]): readonly Candidate[][] {
  const tiers: Candidate[][] = [];
  for (const one of candidates) (tiers[one.tier] ??= []).push(one);
  return tiers.filter((tier) => tier !== undefined);
}

/**
 * Where the prompt seems too long for every engine, the roomiest one may judge
 * by its own count, unless the prompt is too long by any count.
 */
function readmitted(
  candidates: readonly Candidate[],
  demand: Demand,
): readonly Candidate[] {
  if (candidates.some((one) => one.unfit === null)) return candidates;
  const tight = candidates.filter((one) => one.unfit?.kind === "context");
  const room = Math.max(0, ...tight.map((one) => one.offer.contextLength));
  if (longestInput(demand) > room * COUNTING_DOUBT) return candidates;
  return candidates.map((one) =>
    one.unfit?.kind === "context" && one.offer.contextLength === room
      ? { ...one, unfit: null }
      : one
  );
}

/** All candidates in their order, or where there are too many the best of them. */
function recorded(
  candidates: readonly Candidate[],
  order: readonly Candidate[],
): readonly Candidate[] {
  if (candidates.length <= MOST_RECORDED) return candidates;
  const best = order.slice(0, MOST_RECORDED);
  const unfit = candidates.filter((one) => one.unfit !== null);
  return [...best, ...unfit.slice(0, MOST_RECORDED - best.length)];
}

function recordOf(
  candidate: Candidate,
  chosen: Candidate | undefined,
  self: NodeId,
): CandidateRecord {
  const { engine, offer, estimate, unfit, cachedTokens } = candidate;
  return {
    node: engine.node,
    nodeName: engine.nodeName,
    engine: engine.engine,
    model: offer.model,
    eligible: unfit === null,
    reason: reasonOf(candidate, unfit, chosen, self),
    estimateMs: estimate.estimateMs,
    terms: estimate.terms,
    factor: estimate.factor,
    ...(cachedTokens > 0 ? { cachedTokens } : {}),
  };
}

function reasonOf(
  candidate: Candidate,
  unfit: Unfit | null,
  chosen: Candidate | undefined,
  self: NodeId,
): string {
  if (unfit !== null) return unfit.reason;
  if (chosen === undefined) return "";
  const mine = candidate.estimate.placementMs;
  const best = chosen.estimate.placementMs;
  if (candidate === chosen) {
    return chosen.engine.node === self ? "chosen, on this node" : "chosen";
  }
  if ((candidate.engine.doubt?.errors ?? 0) > 0) return "failed lately";
  return mine >= best
    ? "predicted to finish later"
    : "not sooner by enough to leave this node";
}
