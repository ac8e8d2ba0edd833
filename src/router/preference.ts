import type { Source } from "../domain/mod.ts";
import type { CandidateField } from "./candidate_field.ts";
import { seededChoice } from "./seeded_choice.ts";

/** Where a request of unsaid source goes. */
export type Policy = "local_first" | "balanced";

/** What an order rests on beside the estimates. */
export interface Preference {
  readonly source: Source;
  readonly policy: Policy;
  /** Draws among candidates that are as good as equal. */
  readonly seed: number;
  /** Whether the work is heavy, so that the strongest of equals take it; absent for no. */
  readonly isHeavy?: boolean;
}

/** Of a prior that says more than this share of the best, nobody is made to find out. */
const WORTH_TRYING = 1.25;
/** Predictions closer than this share say nothing. */
const TIE = 1.05;
/** Neither preferred nor shunned. */
const UNKNOWN_TIER = 2;
/** Least gain for which `local_first` leaves this node. */
const LEAST_GAIN_MS = 50;

/**
 * Order eligible candidates, the one to ask first at the front. Pure.
 *
 * @param eligible Candidates that can serve the request, by their numbers in the field.
 * @param field What is predicted for them.
 * @param preference Source, policy and seed.
 * @returns The same candidates in order.
 */
export function preferred(
  eligible: readonly number[],
  field: CandidateField,
  preference: Preference,
): readonly number[] {
  const { placementMs } = field;
  const sorted = eligible.toSorted((a, b) =>
    (placementMs[a] ?? 0) - (placementMs[b] ?? 0)
  );
  return new Ordering(field, preference).order(sorted);
}

/** The rules by which one candidate goes before those that are predicted sooner. */
class Ordering {
  readonly #field: CandidateField;
  readonly #preference: Preference;

  constructor(field: CandidateField, preference: Preference) {
    this.#field = field;
    this.#preference = preference;
  }

  /** @param sorted The soonest at the front. */
  order(sorted: readonly number[]): readonly number[] {
    const leader = this.#leader(sorted);
    const first = leader === undefined
      ? undefined
      : this.#unexplored(sorted, leader) ?? leader;
    return first === undefined || first === sorted[0]
      ? sorted
      : [first, ...sorted.filter((one) => one !== first)];
  }

  /**
   * A candidate whose speed nobody has seen, if trying it costs little: it is
   * idle and warm, and its prior says nearly as soon as the one that would be
   * chosen (routing study, B5). One whose prior is exact needs no trying.
   */
  #unexplored(sorted: readonly number[], leader: number): number | undefined {
    const field = this.#field;
    if (field.rates(leader).observations === 0) return undefined;
    const withinMs = this.#ms(leader) * WORTH_TRYING;
    return sorted.find((one) => {
      if (!(this.#ms(one) <= withinMs) || field.waitMs[one] !== 0) return false;
      const { observations, typicalError } = field.rates(one);
      return observations === 0 && typicalError > 0 && field.isWarm(one);
    });
  }

  #leader(sorted: readonly number[]): number | undefined {
    if (this.#preference.source.kind !== "unsaid") {
      return this.#soonest(sorted);
    }
    const here = sorted.filter((one) => this.#isHere(one));
    const local = this.#soonest(here);
    const others = here.length === 0
      ? sorted
      : sorted.filter((one) => !this.#isHere(one));
    const [other] = others;
    if (local === undefined || other === undefined) {
      return this.#soonest(sorted);
    }
    return this.#shouldLeave(local, other) ? this.#soonest(others) : local;
  }

  /** Whether another node is better by the margins of design.md 6. */
  #shouldLeave(local: number, other: number): boolean {
    const { errorMs } = this.#field;
    const { policy } = this.#preference;
    const neededMs = this.#ms(other) * TIE +
      this.#field.engine(other).view.hop.jitterMs;
    const stayMs = this.#ms(local);
    switch (policy) {
      case "balanced":
        return neededMs < stayMs;
      case "local_first":
        return neededMs + Math.max(
              LEAST_GAIN_MS,
              errorMs[local] ?? 0,
              errorMs[other] ?? 0,
            ) < stayMs;
      default: {
        const never: never = policy;
        return never;
      }
    }
  }

  /**
   * Among equals the one with most of the prompt cached comes first, for heavy
   * work the strongest machine, then this node, else the seed draws.
   */
  #soonest(sorted: readonly number[]): number | undefined {
    const [best] = sorted;
    if (best === undefined) return undefined;
    const { cachedTokens } = this.#field;
    const withinMs = this.#ms(best) * TIE;
    const beyond = sorted.findIndex((one) => !(this.#ms(one) <= withinMs));
    const near = beyond < 0 ? sorted : sorted.slice(0, beyond);
    const most = near.reduce(
      (sum, one) => Math.max(sum, cachedTokens[one] ?? 0),
      0,
    );
    const equals = this.#strongest(
      near.filter((one) => cachedTokens[one] === most),
    );
    return equals.find((one) => this.#isHere(one)) ??
      equals[seededChoice(this.#preference.seed, equals.length)] ?? best;
  }

  /** Seed 2's tiers: who is as soon and stronger has the long prompt; light work goes where it likes. */
  #strongest(equals: readonly number[]): readonly number[] {
    if (this.#preference.isHeavy !== true) return equals;
    const tiers = equals.map((one) =>
      this.#field.engine(one).view.tier ?? UNKNOWN_TIER
    );
    const best = Math.min(...tiers);
    return equals.filter((_, at) => tiers[at] === best);
  }

  #isHere(one: number): boolean {
    return this.#field.isHere[one] === 1;
  }

  #ms(one: number): number {
    return this.#field.placementMs[one] ?? 0;
  }
}
