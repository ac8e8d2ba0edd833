import type { Source } from "../domain/mod.ts";
import type { CandidateField } from "./candidate_field.ts";
import { seededChoice } from "./seeded_choice.ts";
import { soonestFew, soonestFirst, soonestOf } from "./soonest.ts";

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
 * The rules by which one candidate goes before those that are predicted sooner.
 * Candidates are numbers in a field. Whom to ask first is found without sorting
 * the others: of a thousand, few are ever looked at. Pure.
 */
export class Preferred {
  /** Candidates that can serve the request, in the field's order. */
  readonly eligible: readonly number[];
  readonly #field: CandidateField;
  readonly #preference: Preference;
  /** The candidate to ask first; undefined where nobody is eligible. */
  readonly first: number | undefined;

  /**
   * @param eligible Candidates that can serve the request, in the field's order.
   * @param field What is predicted for them.
   * @param preference Source, policy and seed.
   */
  constructor(
    eligible: readonly number[],
    field: CandidateField,
    preference: Preference,
  ) {
    this.eligible = eligible;
    this.#field = field;
    this.#preference = preference;
    const leader = this.#leader();
    this.first = leader === undefined
      ? undefined
      : this.#unexplored(leader) ?? leader;
  }

  /** All of them, the one to ask first at the front, then by prediction. */
  order(): readonly number[] {
    return this.#behindFirst(
      soonestFirst(this.eligible, this.#field.placementMs),
    );
  }

  /** The front of that order. */
  foremost(count: number): readonly number[] {
    const { placementMs } = this.#field;
    return this.#behindFirst(soonestFew(this.eligible, placementMs, count))
      .slice(0, count);
  }

  #behindFirst(sorted: readonly number[]): readonly number[] {
    const { first } = this;
    return first === undefined || first === sorted[0]
      ? sorted
      : [first, ...sorted.filter((one) => one !== first)];
  }

  /**
   * A candidate whose speed nobody has seen, if trying it costs little: it is
   * idle and warm, and its prior says nearly as soon as the one that would be
   * chosen (routing study, B5). One whose prior is exact needs no trying.
   */
  #unexplored(leader: number): number | undefined {
    const field = this.#field;
    if (field.rates(leader).observations === 0) return undefined;
    const withinMs = this.#ms(leader) * WORTH_TRYING;
    const untried = this.eligible.filter((one) => {
      if (!(this.#ms(one) <= withinMs) || field.waitMs[one] !== 0) return false;
      const { observations, typicalError } = field.rates(one);
      return observations === 0 && typicalError > 0 && field.isWarm(one);
    });
    return soonestOf(untried, field.placementMs);
  }

  #leader(): number | undefined {
    const all = this.eligible;
    if (this.#preference.source.kind !== "unsaid") return this.#soonest(all);
    const here = all.filter((one) => this.#isHere(one));
    if (here.length === 0) return this.#soonest(all);
    const others = all.filter((one) => !this.#isHere(one));
    const local = this.#soonest(here);
    const other = soonestOf(others, this.#field.placementMs);
    if (local === undefined || other === undefined) return local;
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
  #soonest(among: readonly number[]): number | undefined {
    const { cachedTokens, placementMs } = this.#field;
    const best = soonestOf(among, placementMs);
    if (best === undefined) return undefined;
    const withinMs = this.#ms(best) * TIE;
    const near = soonestFirst(
      among.filter((one) => this.#ms(one) <= withinMs),
      placementMs,
    );
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
    return this.#field.isHere[one] === true;
  }

  #ms(one: number): number {
    return this.#field.placementMs[one] ?? 0;
  }
}
