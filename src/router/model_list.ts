import type {
  Capability,
  Engine,
  ModelFeature,
  ModelListing,
  ModelSet,
  NodeId,
} from "../domain/mod.ts";
import { modelKey } from "./model_name.ts";
import { matchesPattern } from "./model_set.ts";

interface Gathering {
  readonly capabilities: Set<Capability>;
  readonly features: Set<ModelFeature>;
  readonly nodes: Set<NodeId>;
  /** Roots of the weights that engines offer under the name. */
  readonly roots: Set<string | null>;
  sizeBytes: number | null;
  contextLength: number;
  warm: boolean;
}

/**
 * Every model that some engine offers, merged over engines and nodes, and every
 * name of a set whose model somebody offers.
 *
 * @param engines All engines; unavailable ones are left out.
 * @param sets Names that an operator joined; patterns are no names to list.
 * @returns Sorted by name; the context length is the longest there is.
 */
export function listModels(
  engines: readonly Engine[],
  sets: readonly ModelSet[] = [],
): ModelListing[] {
  const models = new Map<string, Gathering>();
  for (const engine of engines) {
    const view = engine.view();
    if (view.availability.kind === "unavailable") continue;
    for (const offer of view.offers) {
      gather(models, offer.model, {
        capabilities: offer.capabilities,
        features: offer.features,
        nodes: [engine.node],
        roots: [offer.root],
        sizeBytes: offer.sizeBytes,
        contextLength: offer.contextLength,
        warm: offer.state.kind === "warm",
      });
    }
  }
  const offered = [...models];
  for (const { name, tiers } of sets) {
    if (name.includes("*")) continue;
    for (const [model, one] of offered) {
      const patterns = tiers.flat();
      if (!patterns.some((each) => matchesName(each, model))) continue;
      gather(models, name, one);
    }
  }
  return [...models].map(([model, one]) => listingOf(model, one))
    .sort((a, b) => a.model < b.model ? -1 : 1);
}

function listingOf(
  model: string,
  { capabilities, features, nodes, roots, sizeBytes, contextLength, warm }:
    Gathering,
): ModelListing {
  const [root = null] = roots;
  return {
    model,
    capabilities: [...capabilities],
    nodes: [...nodes],
    contextLength,
    warm,
    features: [...features],
    ...(sizeBytes === null ? {} : { sizeBytes }),
    ...(root === null || roots.size > 1 ? {} : { root }),
  };
}

function gather(
  models: Map<string, Gathering>,
  name: string,
  one: {
    readonly capabilities: Iterable<Capability>;
    readonly features: Iterable<ModelFeature>;
    readonly nodes: Iterable<NodeId>;
    readonly roots: Iterable<string | null>;
    readonly sizeBytes: number | null;
    readonly contextLength: number;
    readonly warm: boolean;
  },
): void {
  const model: Gathering = models.get(name) ??
    {
      capabilities: new Set(),
      features: new Set(),
      nodes: new Set(),
      roots: new Set(),
      sizeBytes: null,
      contextLength: 0,
      warm: false,
    };
  models.set(name, model);
  for (const each of one.capabilities) model.capabilities.add(each);
  for (const each of one.features) model.features.add(each);
  for (const node of one.nodes) model.nodes.add(node);
  for (const root of one.roots) model.roots.add(root);
  if (one.sizeBytes !== null) {
    model.sizeBytes = Math.max(model.sizeBytes ?? 0, one.sizeBytes);
  }
  model.contextLength = Math.max(model.contextLength, one.contextLength);
  model.warm ||= one.warm;
}

function matchesName(pattern: string, model: string): boolean {
  return matchesPattern(modelKey(pattern), modelKey(model));
}
