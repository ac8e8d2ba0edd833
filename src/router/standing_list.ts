import type {
  Engine,
  EngineStanding,
  NodeId,
  NodeStanding,
} from "../domain/mod.ts";
import { processIn } from "./process_change.ts";
import type { EnginePlace, Standings } from "./standings.ts";

interface Gathering {
  readonly nodeName: string;
  readonly engines: EngineStanding[];
  /** Running and waiting attempts by device, which engines may share. */
  readonly held: Map<string, number>;
}

/**
 * List how attempts fare at every engine, node by node.
 *
 * @param engines All engines, this node's first.
 * @param standings What this node's attempts met there.
 * @param nowMs Monotonic time.
 * @returns Nodes in the order of their first engine.
 */
export function listStandings(
  engines: readonly Engine[],
  standings: Standings,
  nowMs: number,
): NodeStanding[] {
  const nodes = new Map<NodeId, Gathering>();
  for (const engine of engines) {
    const { node, nodeName, id } = engine;
    const view = engine.view();
    const place: EnginePlace = {
      key: `${node}/${id}`,
      node,
      process: (model) => processIn(view, model),
    };
    const gathering: Gathering = nodes.get(node) ??
      { nodeName, engines: [], held: new Map() };
    nodes.set(node, gathering);
    gathering.engines.push({
      engine: id,
      breaker: standings.engineBreaker(place, nowMs),
      restsForMs: standings.restsForMs(place, nowMs),
      availability: view.availability,
    });
    for (const { device, queue } of view.offers) {
      const held = queue.runningMs.length + queue.waitingMs.length;
      const known = gathering.held.get(device) ?? 0;
      gathering.held.set(device, Math.max(known, held));
    }
  }
  return [...nodes].map(([node, { nodeName, engines, held }]) => ({
    node,
    nodeName,
    breaker: standings.memberBreaker(node, nowMs),
    engines,
    inFlight: [...held.values()].reduce((sum, count) => sum + count, 0),
  }));
}
