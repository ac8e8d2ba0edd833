import type { CandidateRecord, Fault, NodeId } from "../domain/mod.ts";
import type { AskedOffer } from "./asked_offers.ts";
import type { Candidate, Demand, EngineSnapshot } from "./candidate.ts";
import { CandidateField } from "./candidate_field.ts";
import { isAllowedBy, longestInput } from "./fitness.ts";
import { noCandidateFault } from "./no_candidate.ts";
import { type Policy, Preferred } from "./preference.ts";

/** Everything a placement rests on. */
export interface PlaceInput {
  readonly demand: Demand;
  readonly engines: readonly EngineSnapshot[];
  readonly self: NodeId;
  readonly policy: Policy;
  /** Recorded with the decision; draws among equals. */
  readonly seed: number;
  /** The engines' offers of the model, where they were found already. */
  readonly asked?: readonly AskedOffer[];
}

/** Where a request should run. */
export type Placement = Placed | Nowhere;

/** Somebody can serve it. */
export interface Placed extends Weighed {
  readonly kind: "placed";
  /** The candidate to ask first. */
  readonly first: Candidate;
  /** All eligible candidates, the one to ask first at the front; never empty. Made when first asked for. */
  readonly order: readonly [Candidate, ...Candidate[]];
  /** Those of them that wait for no slot, made when asked for. */
  atOnce(): readonly Candidate[];
  /** The eligible candidate of an engine, or undefined. */
  find(key: string): Candidate | undefined;
}

/** Nobody can. */
export interface Nowhere extends Weighed {
  readonly kind: "nowhere";
  readonly fault: Fault;
}

/** What was weighed, for the record. */
export interface Weighed {
  /** All candidates, or where there are too many the best of them. Made when first asked for. */
  readonly candidates: readonly CandidateRecord[];
  /** How many more were weighed than these. */
  readonly unlisted: number;
}

/** A decision of a thousand candidates would be remembered at their expense. */
const MOST_RECORDED = 32;
/** A prompt this long is heavy work, which the strongest of equals take (design.md 9). */
const HEAVY_TOKENS = 8192;

/**
 * Decide where a request should run: filter, estimate, order. Pure: the same
 * input gives the same placement, in the node, in a replay and in a simulation.
 * What it is asked for later it still takes from the input, so that this must
 * not have changed.
 *
 * @param input Request, engines, policy and seed.
 * @returns Candidates in order, or why there is none.
 */
export function place(input: PlaceInput): Placement {
  const field = new CandidateField(input);
  const tiers = preferredByTier(field, input);
  const first = tiers[0]?.first;
  if (first !== undefined) return new PlacedOrder(input, field, tiers, first);
  const { demand: { source }, self } = input;
  const all = indexesOf(field);
  const fault = noCandidateFault(
    input.demand,
    all.map((at) => ({ unfit: field.unfit(at) })),
    {
      nodeIsKnown: input.engines.some((engine) =>
        isAllowedBy(source, engine, self)
      ),
    },
  );
  return {
    kind: "nowhere",
    fault,
    candidates: all.slice(0, MOST_RECORDED).map((at) =>
      recordOf(field.candidate(at), reasonOf(field, at, null, self))
    ),
    unlisted: Math.max(0, all.length - MOST_RECORDED),
  };
}

/** Those who can serve it, set by set: fallbacks serve only when nobody of an earlier set can. */
function preferredByTier(
  field: CandidateField,
  { demand, policy, seed }: PlaceInput,
): readonly Preferred[] {
  const tiers: number[][] = [];
  for (let at = 0; at < field.size; at++) {
    if (field.unfit(at) === null) (tiers[field.tier(at)] ??= []).push(at);
  }
  const preference = {
    source: demand.source,
    policy,
    seed,
    isHeavy: longestInput(demand) >= HEAVY_TOKENS,
  };
  // Sets of which nobody can are holes, which this passes over.
  return tiers.flatMap((tier) => new Preferred(tier, field, preference));
}

class PlacedOrder implements Placed {
  readonly kind = "placed";
  readonly #input: PlaceInput;
  readonly #field: CandidateField;
  readonly #tiers: readonly Preferred[];
  readonly #first: number;

  constructor(
    input: PlaceInput,
    field: CandidateField,
    tiers: readonly Preferred[],
    first: number,
  ) {
    this.#input = input;
    this.#field = field;
    this.#tiers = tiers;
    this.#first = first;
  }

  get first(): Candidate {
    return this.#field.candidate(this.#first);
  }

  get order(): readonly [Candidate, ...Candidate[]] {
    const [, ...rest] = this.#order();
    return [this.first, ...rest.map((at) => this.#field.candidate(at))];
  }

  get candidates(): readonly CandidateRecord[] {
    const field = this.#field;
    return this.#recorded().map((at) =>
      recordOf(
        field.candidate(at),
        reasonOf(field, at, this.#first, this.#input.self),
      )
    );
  }

  get unlisted(): number {
    return Math.max(0, this.#field.size - MOST_RECORDED);
  }

  atOnce(): readonly Candidate[] {
    const { waitMs } = this.#field;
    return this.#order().filter((at) => waitMs[at] === 0)
      .map((at) => this.#field.candidate(at));
  }

  find(key: string): Candidate | undefined {
    for (const tier of this.#tiers) {
      const at = tier.eligible.find((one) =>
        this.#field.engine(one).key === key
      );
      if (at !== undefined) return this.#field.candidate(at);
    }
    return undefined;
  }

  #order(): readonly number[] {
    return this.#tiers.flatMap((tier) => tier.order());
  }

  /** All candidates in their order, or where there are too many the best of them. */
  #recorded(): readonly number[] {
    const field = this.#field;
    if (field.size <= MOST_RECORDED) return indexesOf(field);
    const best: number[] = [];
    for (const tier of this.#tiers) {
      best.push(...tier.foremost(MOST_RECORDED - best.length));
    }
    for (let at = 0; at < field.size && best.length < MOST_RECORDED; at++) {
      if (field.unfit(at) !== null) best.push(at);
    }
    return best;
  }
}

function indexesOf({ size }: CandidateField): readonly number[] {
  return Array.from({ length: size }, (_, at) => at);
}

function recordOf(candidate: Candidate, reason: string): CandidateRecord {
  const { engine, offer, estimate, unfit, cachedTokens } = candidate;
  return {
    node: engine.node,
    nodeName: engine.nodeName,
    engine: engine.engine,
    model: offer.model,
    eligible: unfit === null,
    reason,
    estimateMs: estimate.estimateMs,
    terms: estimate.terms,
    factor: estimate.factor,
    ...(cachedTokens > 0 ? { cachedTokens } : {}),
  };
}

function reasonOf(
  field: CandidateField,
  at: number,
  chosen: number | null,
  self: NodeId,
): string {
  const unfit = field.unfit(at);
  if (unfit !== null) return unfit.reason;
  if (chosen === null) return "";
  const { doubt, node } = field.engine(at);
  if (at === chosen) return node === self ? "chosen, on this node" : "chosen";
  if ((doubt?.errors ?? 0) > 0) return "failed lately";
  return (field.placementMs[at] ?? 0) >= (field.placementMs[chosen] ?? 0)
    ? "predicted to finish later"
    : "not sooner by enough to leave this node";
}
