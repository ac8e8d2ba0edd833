import {
  type EngineView,
  type Offer,
  type OfferIndex,
  OfferScan,
} from "../domain/mod.ts";
import { type ModelName, tierOf } from "./model_name.ts";

/** An offer of a model that was asked for. */
export interface AskedOffer {
  /** Whose it is: index among the engines. */
  readonly at: number;
  /** Which of the asked name's sets it belongs to: 0 before all fallbacks. */
  readonly tier: number;
  readonly offer: Offer;
}

/** Where offers are looked for. */
export interface Shelf {
  readonly view: Pick<EngineView, "index" | "offers" | "stated">;
}

/**
 * Find all offers of a model: by its name, and by the weights that the name
 * stands for somewhere, under whatever name (MOD-03). Only those are looked at
 * where engines have an index, and they are given as they were stated where
 * only time has passed since.
 *
 * @param name The name.
 * @param engines All engines.
 * @returns Engine by engine; where several sets claim the same weights, the first has them.
 */
export function askedOffers(
  name: ModelName,
  engines: readonly Shelf[],
): readonly AskedOffer[] {
  const named: AskedOffer[] = [];
  const roots = new Map<string, number>();
  let at = 0;
  const visit = (tier: number, offer: Offer) => {
    named.push({ at, tier, offer });
    const { root } = offer;
    if (root === null) return;
    const before = roots.get(root);
    if (before === undefined || tier < before) roots.set(root, tier);
  };
  for (; at < engines.length; at++) {
    const engine = engines[at];
    if (engine !== undefined) eachNamed(name, engine, visit);
  }
  return roots.size === 0 ? named : withRoots(named, engines, roots);
}

/**
 * Visit the offers that a name means by itself.
 *
 * @param name The name.
 * @param shelf Where to look.
 * @param visit Called with each and its set.
 */
export function eachNamed(
  name: ModelName,
  { view }: Shelf,
  visit: (tier: number, offer: Offer) => void,
): void {
  const index = view.stated?.table ?? view.index;
  if (index === undefined || name.tiers !== undefined) {
    for (const offer of view.stated?.list ?? view.offers) {
      const tier = tierOf(name, offer.model, offer.isPaid);
      if (tier !== null) visit(tier, offer);
    }
    return;
  }
  for (const offer of index.named(name.asked)) visit(0, offer);
  if (name.other === null) return;
  for (const offer of index.named(name.other)) visit(0, offer);
}

/** What finds an engine's offers as they are now. */
export function indexOf({ view }: Shelf): OfferIndex {
  return view.index ?? new OfferScan(view.offers);
}

/** What finds an engine's offers as they were stated, which says as much of their names and weights. */
export function tableOf({ view }: Shelf): OfferIndex {
  return view.stated?.table ?? view.index ?? new OfferScan(view.offers);
}

/** The named ones, and behind those of each engine what else has their weights. */
function withRoots(
  named: readonly AskedOffer[],
  engines: readonly Shelf[],
  roots: ReadonlyMap<string, number>,
): readonly AskedOffer[] {
  const all: AskedOffer[] = [];
  // The same order whether an index found them or not: a replay has none.
  const sorted = [...roots].sort(([a], [b]) => a < b ? -1 : 1);
  let next = 0;
  for (let at = 0; at < engines.length; at++) {
    const engine = engines[at];
    if (engine === undefined) continue;
    const from = all.length;
    for (let one = named[next]; one?.at === at; one = named[++next]) {
      all.push(one);
    }
    const until = all.length;
    const table = tableOf(engine);
    for (const [root, tier] of sorted) {
      for (const offer of table.rooted(root)) {
        if (!holds(all, from, until, offer)) all.push({ at, tier, offer });
      }
    }
  }
  return all;
}

function holds(
  all: readonly AskedOffer[],
  from: number,
  until: number,
  offer: Offer,
): boolean {
  for (let at = from; at < until; at++) {
    if (all[at]?.offer === offer) return true;
  }
  return false;
}
