import {
  type DecisionRecord,
  type EngineInputs,
  type Offer,
  parseSource,
  type PlacementInputs,
  type Source,
} from "../domain/mod.ts";
import { askedOffers, indexOf, tableOf } from "./asked_offers.ts";
import type { Demand, EngineSnapshot } from "./candidate.ts";
import type { PlaceInput } from "./place.ts";

/** A decision among more engines than this keeps no inputs: a log of them must stay small. */
const MOST_ENGINES = 32;

/**
 * Keep what a placement rests on as plain data: counts, times and digests.
 *
 * @param input What the placement is made from.
 * @returns The data, or null where it would be too much.
 */
export function keepInputs(input: PlaceInput): PlacementInputs | null {
  const { demand, engines, self } = input;
  if (engines.length > MOST_ENGINES) return null;
  const offers = offersThatMatter(input);
  return {
    self,
    ...demandIn(demand),
    engines: engines.map((engine, at): EngineInputs => ({
      key: engine.key,
      node: engine.node,
      nodeName: engine.nodeName,
      engine: engine.engine,
      availability: engine.view.availability,
      hop: engine.view.hop,
      offers: (offers[at] ?? []).map((offer) => ({
        offer,
        unseenMs: engine.unseenMs(offer.device),
        unseenModel: engine.unseenModel?.(offer.device) ?? null,
        correction: engine.correction?.(offer.model) ?? 1,
        cachedTokens: engine.cachedTokens?.(offer.model) ?? 0,
      })),
      bar: engine.bar,
      ...(engine.view.tier === undefined ? {} : { tier: engine.view.tier }),
      ...(engine.doubt === undefined || engine.doubt === null
        ? {}
        : { doubt: engine.doubt }),
    })),
  };
}

/**
 * Rebuild what a recorded placement was made from.
 *
 * @param record The decision.
 * @returns The same input, or null where the record kept none.
 */
export function placeInputOf(record: DecisionRecord): PlaceInput | null {
  const { inputs, policy, seed } = record;
  const source: Source | undefined = record.source === "unsaid"
    ? { kind: "unsaid" }
    : parseSource(record.source);
  if (inputs === undefined || source === undefined) return null;
  return {
    demand: {
      ...demandIn(inputs),
      source,
      promptTokens: record.promptTokens,
    },
    engines: inputs.engines.map(snapshotOf),
    self: inputs.self,
    policy,
    seed,
  };
}

/** What a demand and its record have in common; the record holds the rest beside. */
function demandIn(
  one: Omit<Demand, "source" | "promptTokens">,
): Omit<Demand, "source" | "promptTokens"> {
  const { capability, expected, inputCount, model, needs } = one;
  const { choices, contextLength, loadsOnly, root } = one;
  return {
    model,
    capability,
    inputCount,
    needs,
    ...(choices === undefined ? {} : { choices }),
    expected,
    ...(root === undefined ? {} : { root }),
    ...(contextLength === undefined ? {} : { contextLength }),
    ...(loadsOnly === undefined ? {} : { loadsOnly }),
  };
}

function snapshotOf(engine: EngineInputs): EngineSnapshot {
  const onDevice = (device: string) =>
    engine.offers.find(({ offer }) => offer.device === device);
  const ofModel = (model: string) =>
    engine.offers.find(({ offer }) => offer.model === model);
  return {
    key: engine.key,
    node: engine.node,
    nodeName: engine.nodeName,
    engine: engine.engine,
    view: {
      availability: engine.availability,
      hop: engine.hop,
      offers: engine.offers.map(({ offer }) => offer),
      dispatchesSeen: Infinity,
      ...(engine.tier === undefined ? {} : { tier: engine.tier }),
    },
    unseenMs: (device) => onDevice(device)?.unseenMs ?? [],
    unseenModel: (device) => onDevice(device)?.unseenModel ?? null,
    correction: (model) => ofModel(model)?.correction ?? 1,
    cachedTokens: (model) => ofModel(model)?.cachedTokens ?? 0,
    bar: engine.bar,
    doubt: engine.doubt ?? null,
  };
}

/** Of each engine, the offers of the asked model, and of those that a load of it would push out. */
function offersThatMatter(
  { asked, demand, engines }: PlaceInput,
): readonly (readonly Offer[])[] {
  const matter = engines.map((): Offer[] => []);
  const names = new Set<string>();
  const roots = new Set<string>();
  for (const { at, offer } of asked ?? askedOffers(demand.model, engines)) {
    const engine = engines[at];
    if (engine === undefined) continue;
    matter[at]?.push(engine.view.stated?.bring(offer) ?? offer);
    const unseen = engine.unseenModel?.(offer.device) ?? null;
    if (unseen !== null) names.add(unseen);
    for (const { model } of offer.evicts ?? []) {
      names.add(model);
      const root = tableOf(engine).rootOf(model);
      if (root !== null) roots.add(root);
    }
  }
  if (names.size === 0) return matter;
  for (const [at, engine] of engines.entries()) {
    const index = indexOf(engine);
    for (const name of names) add(index.named(name), matter[at]);
    for (const root of roots) add(index.rooted(root), matter[at]);
  }
  return matter;
}

function add(offers: readonly Offer[], to: Offer[] | undefined): void {
  for (const offer of offers) {
    if (to?.includes(offer) === false) to.push(offer);
  }
}
