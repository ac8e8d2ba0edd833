import type { Offer, OfferIndex } from "./engine.ts";

const NONE: readonly Offer[] = [];

/**
 * Offers by name and by weights, for a list that is asked many times: built
 * with the first question.
 */
export class OfferTable implements OfferIndex {
  readonly #offers: readonly Offer[];
  #tables: Tables | null = null;

  /**
   * Index offers.
   *
   * @param offers The list, which does not change.
   */
  constructor(offers: readonly Offer[]) {
    this.#offers = offers;
  }

  named(model: string): readonly Offer[] {
    return this.#of().named.get(model) ?? NONE;
  }

  rooted(root: string): readonly Offer[] {
    return this.#of().rooted.get(root) ?? NONE;
  }

  rootOf(model: string): string | null {
    return this.named(model)[0]?.root ?? null;
  }

  warm(): readonly Offer[] {
    return this.#of().warm;
  }

  #of(): Tables {
    return this.#tables ??= tablesOf(this.#offers);
  }
}

/**
 * Offers that are brought up to date one by one, when somebody asks for them:
 * of a hundred models a placement looks at one or two.
 */
export class BroughtOffers implements OfferIndex {
  readonly #offers: readonly Offer[];
  readonly #index: OfferIndex;
  readonly #bring: (offer: Offer) => Offer;
  /** Each is brought once, so that whoever asks twice gets the same: the first, and a map from the second on. */
  #first: readonly [Offer, Offer] | null = null;
  #brought: Map<Offer, Offer> | null = null;

  /**
   * Index offers that change with time.
   *
   * @param offers The list.
   * @param bring Brings one up to date; name, weights and whether it is warm stay.
   * @param index Over the same list.
   */
  constructor(
    offers: readonly Offer[],
    bring: (offer: Offer) => Offer,
    index: OfferIndex = new OfferScan(offers),
  ) {
    this.#offers = offers;
    this.#index = index;
    this.#bring = bring;
  }

  /** The whole list, brought up to date. */
  all(): readonly Offer[] {
    return this.#all(this.#offers);
  }

  named(model: string): readonly Offer[] {
    return this.#all(this.#index.named(model));
  }

  rooted(root: string): readonly Offer[] {
    return this.#all(this.#index.rooted(root));
  }

  rootOf(model: string): string | null {
    return this.#index.rootOf(model);
  }

  warm(): readonly Pick<Offer, "model" | "root">[] {
    return this.#index.warm();
  }

  #all(offers: readonly Offer[]): readonly Offer[] {
    if (offers.length === 0) return NONE;
    return offers.map((offer) => this.bring(offer));
  }

  /** One of the list, brought up to date. */
  bring(offer: Offer): Offer {
    if (this.#first?.[0] === offer) return this.#first[1];
    const known = this.#brought?.get(offer);
    if (known !== undefined) return known;
    const brought = this.#bring(offer);
    if (this.#first === null) this.#first = [offer, brought];
    else (this.#brought ??= new Map()).set(offer, brought);
    return brought;
  }
}

/** Offers looked through with each question, for a list that is asked once or twice. */
export class OfferScan implements OfferIndex {
  readonly #offers: readonly Offer[];

  /**
   * Index offers.
   *
   * @param offers The list.
   */
  constructor(offers: readonly Offer[]) {
    this.#offers = offers;
  }

  named(model: string): readonly Offer[] {
    return this.#offers.filter((one) => one.model === model);
  }

  rooted(root: string): readonly Offer[] {
    return this.#offers.filter((one) => one.root === root);
  }

  rootOf(model: string): string | null {
    return this.#offers.find((one) => one.model === model)?.root ?? null;
  }

  warm(): readonly Offer[] {
    return this.#offers.filter(({ state }) => state.kind === "warm");
  }
}

interface Tables {
  readonly named: ReadonlyMap<string, readonly Offer[]>;
  readonly rooted: ReadonlyMap<string, readonly Offer[]>;
  readonly warm: readonly Offer[];
}

function tablesOf(offers: readonly Offer[]): Tables {
  return {
    named: Map.groupBy(offers, ({ model }) => model),
    rooted: Map.groupBy(
      offers.filter((one) => one.root !== null),
      ({ root }) => root ?? "",
    ),
    warm: offers.filter(({ state }) => state.kind === "warm"),
  };
}
