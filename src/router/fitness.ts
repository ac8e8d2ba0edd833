import {
  ageLoadState,
  type NodeId,
  type Offer,
  type Source,
} from "../domain/mod.ts";
import type { Demand, EngineSnapshot, Unfit } from "./candidate.ts";

/**
 * Find why an engine cannot serve a request, the most lasting reason first.
 * Pure.
 *
 * @param demand The request.
 * @param engine The engine.
 * @param offer Its offer of the model, as it is now or as the engine stated it.
 * @param self This node.
 * @returns The reason, or null when it can.
 */
export function unfitness(
  demand: Demand,
  engine: EngineSnapshot,
  offer: Offer,
  self: NodeId,
): Unfit | null {
  if (
    demand.loadsOnly !== true &&
    !offer.capabilities.includes(demand.capability)
  ) {
    return {
      kind: "capability",
      reason: `does ${offer.capabilities.join(", ")}, not ${demand.capability}`,
    };
  }
  const missing = demand.needs.find((need) => !offer.features.includes(need));
  if (missing !== undefined) {
    return { kind: "feature", reason: `lacks ${missing}` };
  }
  if (demand.root !== undefined && demand.root !== offer.root) {
    return { kind: "feature", reason: "has other weights" };
  }
  if (!isAllowedBy(demand.source, engine, self)) {
    return { kind: "source", reason: "the request may not run there" };
  }
  return standing(engine, offer) ?? wishes(demand, offer) ??
    tightness(demand, offer);
}

/**
 * Whether a request's source lets it run on an engine.
 *
 * @param source What the caller said.
 * @param engine The engine and its node.
 * @param self This node.
 */
export function isAllowedBy(
  source: Source,
  engine: { readonly node: NodeId; readonly nodeName: string },
  self: NodeId,
): boolean {
  switch (source.kind) {
    case "unsaid":
    case "cluster":
      return true;
    case "local":
      return engine.node === self;
    case "node":
      return engine.node === source.node ||
        engine.nodeName.toLowerCase() === source.node.toLowerCase();
    default: {
      const never: never = source;
      return never;
    }
  }
}

/** What a load could give counts, where the caller says what he needs. */
function wishes({ contextLength = 0 }: Demand, offer: Offer): Unfit | null {
  const most = Math.max(offer.contextLength, offer.contextLimit ?? 0);
  if (contextLength <= most) return null;
  return {
    kind: "context_wish",
    reason:
      `can have ${most} tokens of context, ${contextLength} were asked for`,
  };
}

/** Last, so that a placement may overrule it alone. */
function tightness(demand: Demand, offer: Offer): Unfit | null {
  const tokens = longestInput(demand);
  const room = Math.max(offer.contextLength, demand.contextLength ?? 0);
  if (tokens <= room) return null;
  return {
    kind: "context",
    reason: `holds ${room} tokens, the prompt has about ${tokens}`,
  };
}

/** Tokens of a request's longest input: each one of an embedding has the context for itself. */
export function longestInput(demand: Demand): number {
  return Math.ceil(demand.promptTokens / Math.max(1, demand.inputCount));
}

function standing(engine: EngineSnapshot, offer: Offer): Unfit | null {
  const { availability, stated } = engine.view;
  if (availability.kind === "unavailable") {
    return {
      kind: "unavailable",
      reason: availability.reason,
      retryInMs: null,
    };
  }
  const state = ageLoadState(offer.state, stated?.stateAgeMs ?? 0);
  if (state.kind === "failed") {
    return {
      kind: "unavailable",
      reason: `the model failed to load: ${state.reason}`,
      retryInMs: state.retryInMs,
    };
  }
  if (offer.misfit !== undefined) {
    const { reason, retryInMs } = offer.misfit;
    return { kind: "memory", reason, retryInMs };
  }
  if ((stated?.queue ?? offer.queue).slots < 1) {
    return { kind: "unavailable", reason: "has no slots", retryInMs: null };
  }
  const { bar } = engine;
  if (bar === null) return null;
  const seconds = Math.ceil(bar.retryInMs / 1000);
  switch (bar.kind) {
    case "breaker_open":
      return {
        kind: "unavailable",
        reason: `failed too often, asked again in ${seconds} s`,
        retryInMs: bar.retryInMs,
      };
    case "cooling_down":
      return {
        kind: "cooling_down",
        reason: `asked for a rest, asked again in ${seconds} s`,
        retryInMs: bar.retryInMs,
      };
    default: {
      const never: never = bar;
      return never;
    }
  }
}
