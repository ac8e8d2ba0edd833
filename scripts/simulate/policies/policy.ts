import type { Placement } from "../../../src/router/place.ts";
import type { SimulatedEntry } from "../entry.ts";
import type { Discipline } from "../simulated_node.ts";
import type { Job } from "../workload.ts";

/** What was chosen, with the prediction where the rule makes one. */
export interface Choice {
  readonly index: number;
  /** Expected work there, for the entry's own count. */
  readonly expectedMs: number;
  /** Tokens of the prompt taken to be cached there. */
  readonly cachedTokens: number;
  readonly predicted: Predicted | null;
}

/** What a rule that predicts says beforehand. */
export interface Predicted {
  readonly totalMs: number;
  readonly ttftMs: number;
  readonly tpotMs: number;
  readonly outputTokens: number;
  /** What four of five are said to stay within; null where lengths are not forecast by the router's own book. */
  readonly p80Ms: number | null;
}

/** Picks a node for each request of one run. */
export interface Chooser {
  /**
   * @param entry The entry node with all it knows.
   * @param job The request.
   * @param tried Nodes that failed it already.
   * @param target Key of the node it is moved to, or null.
   * @returns The node, or null when none is left.
   */
  choose(
    entry: SimulatedEntry,
    job: Job,
    tried: ReadonlySet<number>,
    target: string | null,
  ): Choice | null;
  /** Weigh all nodes anew for a request that waits; absent where none is moved. */
  weigh?(
    entry: SimulatedEntry,
    job: Job,
    tried: ReadonlySet<number>,
  ): Placement;
}

/** A routing rule. */
export interface RoutingRule {
  readonly name: string;
  readonly about: string;
  readonly discipline: Discipline;
  /** Make a chooser with no memory of other runs. */
  create(world: World): Chooser;
}

/** What is the same for all choices of a run. */
export interface World {
  readonly nodes: number;
  readonly policy: "balanced" | "local_first";
  readonly learnsLengths: boolean;
  /** A number in [0, 1), the same sequence for every rule. */
  uniform(): number;
}
