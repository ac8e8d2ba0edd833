import type { NodeId, Source } from "../domain/mod.ts";
import type { Candidate } from "./candidate.ts";
import { seededChoice } from "./seeded_choice.ts";

/** Where a request of unsaid source goes. */
export type Policy = "local_first" | "balanced";

/** What an order rests on beside the estimates. */
export interface Preference {
  readonly source: Source;
  readonly policy: Policy;
  readonly self: NodeId;
  /** Draws among candidates that are as good as equal. */
  readonly seed: number;
}

/** Of a prior that says more than this share of the best, nobody is made to find out. */
const WORTH_TRYING = 1.25;
/** Predictions closer than this share say nothing. */
const TIE = 1.05;
/** Least gain for which `local_first` leaves this node. */
const LEAST_GAIN_MS = 50;

/**
 * Order eligible candidates, the one to ask first at the front. Pure.
 *
 * @param eligible Candidates that can serve the request.
 * @param preference Source, policy and seed.
 * @returns The same candidates in order.
 */
export function preferred(
  eligible: readonly Candidate[],
  preference: Preference,
): readonly Candidate[] {
  const sorted = eligible.toSorted(bySoonest);
  const leader = leaderOf(sorted, preference);
  const first = leader === undefined ? undefined : unexplored(sorted, leader) ??
    leader;
  return first === undefined || first === sorted[0]
    ? sorted
    : [first, ...sorted.filter((one) => one !== first)];
}

/**
 * A candidate whose speed nobody has seen, if trying it costs little: it is
 * idle and warm, and its prior says nearly as soon as the one that would be
 * chosen (routing study, B5). One whose prior is exact needs no trying.
 */
function unexplored(
  sorted: readonly Candidate[],
  leader: Candidate,
): Candidate | undefined {
  if (leader.offer.rates.observations === 0) return undefined;
  const withinMs = leader.estimate.placementMs * WORTH_TRYING;
  return sorted.find(({ estimate, offer }) =>
    offer.rates.observations === 0 && offer.rates.typicalError > 0 &&
    offer.state.kind === "warm" && estimate.terms.queueMs === 0 &&
    estimate.placementMs <= withinMs
  );
}

function leaderOf(
  sorted: readonly Candidate[],
  preference: Preference,
): Candidate | undefined {
  const isHere = isOn(preference.self);
  if (preference.source.kind !== "unsaid") return soonest(sorted, preference);
  const local = soonest(sorted.filter(isHere), preference);
  const others = sorted.filter((one) => !isHere(one));
  const [other] = others;
  if (local === undefined || other === undefined) {
    return soonest(sorted, preference);
  }
  return shouldLeave(local, other, preference.policy)
    ? soonest(others, preference)
    : local;
}

/** Whether another node is better by the margins of design.md 6. */
function shouldLeave(
  local: Candidate,
  other: Candidate,
  policy: Policy,
): boolean {
  const neededMs = other.estimate.placementMs * TIE +
    other.engine.view.hop.jitterMs;
  const stayMs = local.estimate.placementMs;
  switch (policy) {
    case "balanced":
      return neededMs < stayMs;
    case "local_first":
      return neededMs + Math.max(
            LEAST_GAIN_MS,
            local.estimate.errorMs,
            other.estimate.errorMs,
          ) < stayMs;
    default: {
      const never: never = policy;
      return never;
    }
  }
}

/** Among equals the one with most of the prompt cached comes first, then this node, else the seed draws. */
function soonest(
  sorted: readonly Candidate[],
  preference: Preference,
): Candidate | undefined {
  const [best] = sorted;
  if (best === undefined) return undefined;
  const withinMs = best.estimate.placementMs * TIE;
  const beyond = sorted.findIndex(({ estimate }) =>
    !(estimate.placementMs <= withinMs)
  );
  const near = beyond < 0 ? sorted : sorted.slice(0, beyond);
  const cached = near.reduce(
    (most, one) => Math.max(most, one.cachedTokens),
    0,
  );
  const equals = near.filter((one) => one.cachedTokens === cached);
  return equals.find(isOn(preference.self)) ??
    equals[seededChoice(preference.seed, equals.length)] ?? best;
}

function isOn(node: NodeId): (candidate: Candidate) => boolean {
  return (candidate) => candidate.engine.node === node;
}

function bySoonest(a: Candidate, b: Candidate): number {
  return a.estimate.placementMs - b.estimate.placementMs;
}
