import type {
  Capability,
  Engine,
  ModelListing,
  ModelSet,
  NodeId,
} from "../domain/mod.ts";
import { modelKey } from "./model_name.ts";
import { matchesPattern } from "./model_set.ts";

interface Gathering {
  readonly capabilities: Set<Capability>;
  readonly nodes: Set<NodeId>;
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
        nodes: [engine.node],
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
  return [...models].map(([model, { capabilities, nodes, ...rest }]) => ({
    model,
    capabilities: [...capabilities],
    nodes: [...nodes],
    ...rest,
  })).sort((a, b) => a.model < b.model ? -1 : 1);
}

function gather(
  models: Map<string, Gathering>,
  name: string,
  one: {
    readonly capabilities: Iterable<Capability>;
    readonly nodes: Iterable<NodeId>;
    readonly contextLength: number;
    readonly warm: boolean;
  },
): void {
  const model: Gathering = models.get(name) ??
    {
      capabilities: new Set(),
      nodes: new Set(),
      contextLength: 0,
      warm: false,
    };
  models.set(name, model);
  for (const each of one.capabilities) model.capabilities.add(each);
  for (const node of one.nodes) model.nodes.add(node);
  model.contextLength = Math.max(model.contextLength, one.contextLength);
  model.warm ||= one.warm;
}

function matchesName(pattern: string, model: string): boolean {
  return matchesPattern(modelKey(pattern), modelKey(model));
}
