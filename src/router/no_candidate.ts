import { Fault, formatSource } from "../domain/mod.ts";
import type { Demand, Unfit } from "./candidate.ts";

/**
 * Say why nobody can serve a request, in the words of the caller. Pure.
 *
 * @param demand The request.
 * @param candidates All engines that offer the model, none of them eligible.
 * @param facts Whether any engine stands where the request's source points.
 * @returns The fault to answer with.
 */
export function noCandidateFault(
  demand: Demand,
  candidates: readonly { readonly unfit: Unfit | null }[],
  facts: { readonly nodeIsKnown: boolean },
): Fault {
  const { asked } = demand.model;
  const { source } = demand;
  if (source.kind === "node" && !facts.nodeIsKnown) {
    return new Fault(
      "no_candidate",
      `No member with engines is known as "${source.node}"; see /cluster/members`,
    );
  }
  if (candidates.length === 0) {
    return new Fault(
      "model_not_found",
      `The model "${asked}" does not exist here; /v1/models and /api/tags list those that do`,
      { param: "model" },
    );
  }
  // What would have to change first: the lasting reasons that hold for all.
  const allowed = candidates.filter((one) => one.unfit?.kind !== "source");
  if (allowed.length === 0) {
    return new Fault(
      "no_candidate",
      `The model "${asked}" is not offered where source "${
        formatSource(source)
      }" points, and such a request goes nowhere else`,
    );
  }
  const unfits = allowed.flatMap((one) =>
    one.unfit === null ? [] : [one.unfit]
  );
  return faultOfAll(demand, unfits);
}

function faultOfAll(demand: Demand, unfits: readonly Unfit[]): Fault {
  const { asked } = demand.model;
  const cooling = unfits.filter((one) => one.kind === "cooling_down");
  if (cooling.length > 0) {
    return new Fault(
      "cooling_down",
      `Every engine with "${asked}" asked for a rest; ask again later`,
      { retryAfterMs: Math.min(...cooling.map((one) => one.retryInMs)) },
    );
  }
  const large = unfits.filter((one) => one.kind === "memory");
  const short = large.flatMap(({ retryInMs }) => retryInMs ?? []);
  const away: Extract<Unfit, { readonly retryInMs: number | null }>[] = unfits
    .filter((one) => one.kind === "unavailable");
  if (large.length > 0 && away.length === 0) {
    const reasons = new Set(large.map((one) => one.reason));
    return new Fault(
      short.length > 0 ? "insufficient_memory" : "model_too_large",
      `The model "${asked}" fits into no memory in reach: it ${
        [...reasons].join("; it ")
      }`,
      short.length > 0 ? { retryAfterMs: Math.min(...short) } : {},
    );
  }
  away.push(...large);
  if (away.length > 0) {
    const retries = away.flatMap((one) => one.retryInMs ?? []);
    const reasons = new Set(away.map((one) => one.reason));
    return new Fault(
      "no_candidate",
      `No engine can serve "${asked}" now: ${[...reasons].join("; ")}`,
      retries.length > 0 ? { retryAfterMs: Math.min(...retries) } : {},
    );
  }
  const wish = unfits.find((one) => one.kind === "context_wish");
  if (wish !== undefined) {
    return new Fault(
      "context_length_exceeded",
      `The model "${asked}" ${wish.reason}; ask for less`,
      { param: "num_ctx" },
    );
  }
  const tight = unfits.find((one) => one.kind === "context");
  if (tight !== undefined) {
    return new Fault(
      "context_length_exceeded",
      `The prompt is too long for "${asked}": it ${tight.reason}`,
      { param: "messages" },
    );
  }
  const first = unfits[0];
  return new Fault(
    "wrong_capability",
    `The model "${asked}" cannot do this: it ${first?.reason ?? "cannot"}`,
    { param: "model" },
  );
}
