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
  const first = leaderOf(sorted, preference);
  return first === undefined || first === sorted[0]
    ? sorted
    : [first, ...sorted.filter((one) => one !== first)];
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
  const near = sorted.filter((one) => one.estimate.placementMs <= withinMs);
  const cached = Math.max(...near.map((one) => one.cachedTokens));
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
