import type {
  Capability,
  Engine,
  ModelListing,
  NodeId,
} from "../domain/mod.ts";

interface Gathering {
  readonly capabilities: Set<Capability>;
  readonly nodes: Set<NodeId>;
  contextLength: number;
  warm: boolean;
}

/**
 * Every model that some engine offers, merged over engines and nodes.
 *
 * @param engines All engines; unavailable ones are left out.
 * @returns Sorted by name; the context length is the longest there is.
 */
export function listModels(engines: readonly Engine[]): ModelListing[] {
  const models = new Map<string, Gathering>();
  for (const engine of engines) {
    const view = engine.view();
    if (view.availability.kind === "unavailable") continue;
    for (const offer of view.offers) {
      const model = models.get(offer.model) ?? {
        capabilities: new Set(),
        nodes: new Set(),
        contextLength: 0,
        warm: false,
      };
      models.set(offer.model, model);
      for (const one of offer.capabilities) model.capabilities.add(one);
      model.nodes.add(engine.node);
      model.contextLength = Math.max(model.contextLength, offer.contextLength);
      model.warm ||= offer.state.kind === "warm";
    }
  }
  return [...models].map(([model, { capabilities, nodes, ...rest }]) => ({
    model,
    capabilities: [...capabilities],
    nodes: [...nodes],
    ...rest,
  })).sort((a, b) => a.model < b.model ? -1 : 1);
}
