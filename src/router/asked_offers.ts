import {
  type EngineView,
  type Offer,
  type OfferIndex,
  OfferScan,
} from "../domain/mod.ts";
import { type ModelName, tierOf } from "./model_name.ts";

/** An offer of a model that was asked for. */
export interface AskedOffer {
  /** Which of the asked name's sets it belongs to: 0 before all fallbacks. */
  readonly tier: number;
  readonly offer: Offer;
}

/** Where offers are looked for. */
export interface Shelf {
  readonly view: Pick<EngineView, "index" | "offers">;
}

/**
 * Find all offers of a model: by its name, and by the weights that the name
 * stands for somewhere, under whatever name (MOD-03). Only those are looked at
 * where engines have an index.
 *
 * @param name The name.
 * @param engines All engines.
 * @returns Those of each engine; where several sets claim the same weights, the first has them.
 */
export function askedOffers(
  name: ModelName,
  engines: readonly Shelf[],
): readonly (readonly AskedOffer[])[] {
  const named = engines.map((engine) => offersNamed(name, engine));
  const roots = new Map<string, number>();
  for (const offers of named) {
    for (const { tier, offer: { root } } of offers) {
      if (root === null) continue;
      roots.set(root, Math.min(tier, roots.get(root) ?? tier));
    }
  }
  if (roots.size === 0) return named;
  return named.map((offers, at) => {
    const engine = engines[at];
    return engine === undefined ? offers : withRoots(offers, engine, roots);
  });
}

/**
 * Find the offers that a name means by itself.
 *
 * @param name The name.
 * @param engine Where to look.
 */
export function offersNamed(
  name: ModelName,
  { view }: Shelf,
): readonly AskedOffer[] {
  if (view.index === undefined || name.tiers !== undefined) {
    const found: AskedOffer[] = [];
    for (const offer of view.offers) {
      const tier = tierOf(name, offer.model, offer.isPaid);
      if (tier !== null) found.push({ tier, offer });
    }
    return found;
  }
  const asked = view.index.named(name.asked).map(inFirst);
  if (name.other === null) return asked;
  const other = view.index.named(name.other);
  return other.length === 0 ? asked : [...asked, ...other.map(inFirst)];
}

function inFirst(offer: Offer): AskedOffer {
  return { tier: 0, offer };
}

/** What finds an engine's offers. */
export function indexOf({ view }: Shelf): OfferIndex {
  return view.index ?? new OfferScan(view.offers);
}

function withRoots(
  named: readonly AskedOffer[],
  engine: Shelf,
  roots: ReadonlyMap<string, number>,
): readonly AskedOffer[] {
  const index = indexOf(engine);
  const found = [...named];
  for (const [root, tier] of roots) {
    for (const offer of index.rooted(root)) {
      if (!named.some((one) => one.offer === offer)) {
        found.push({ tier, offer });
      }
    }
  }
  return found;
}
