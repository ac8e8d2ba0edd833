import {
  type JsonObject,
  type MemberView,
  type MemoryNeed,
  neededMemory,
  type NodeId,
  type PlacedOffer,
} from "../domain/mod.ts";

/**
 * Write a model that is in some engine's memory, on its way there, or failed to
 * get there.
 *
 * @param placed What the engine says of it.
 * @returns Null for one that simply is not in memory.
 */
export function memoryRow(
  { engine, node, nodeName, offer }: PlacedOffer,
): JsonObject | null {
  const { contextLength, memory, model, residency, sizeBytes, state } = offer;
  if (state.kind === "cold") return null;
  return {
    node,
    nodeName,
    engine,
    model,
    state: state.kind,
    progress: state.kind === "loading" ? state.progress ?? null : null,
    remainingMs: state.kind === "loading" ? state.remainingMs : null,
    reason: state.kind === "failed" ? state.reason : null,
    retryInMs: state.kind === "failed" ? state.retryInMs : null,
    sizeBytes,
    memoryBytes: residency?.memoryBytes ??
      (memory === undefined ? null : neededMemory(memory)),
    contextLength,
    expiresInMs: residency?.expiresInMs ?? null,
    pinned: residency?.isPinned ?? null,
    inUse: residency?.isInUse ?? null,
  };
}

/**
 * Say of every member whether a model fits into its memory.
 *
 * @param offers What engines say of the model.
 * @param members The member table.
 * @returns A row for each engine that has it, and one for each other member that might get it.
 */
export function fitRows(
  offers: readonly PlacedOffer[],
  members: readonly MemberView[],
): readonly JsonObject[] {
  const machines = new Map(members.map((one) => [one.id, one.machine]));
  const memoryOf = (node: NodeId) => ({
    freeBytes: machines.get(node)?.memoryAvailableBytes ?? null,
    totalBytes: machines.get(node)?.memoryTotalBytes ?? null,
  });
  const having = new Set(offers.map(({ node }) => node));
  const known = offers.find(({ offer }) => offer.memory !== undefined)?.offer;
  return [
    ...offers.map(({ engine, node, nodeName, offer }) => ({
      node,
      nodeName,
      engine,
      ...needOf(offer.memory),
      ...memoryOf(node),
      contextLength: offer.contextLength,
      contextLimit: Math.max(offer.contextLength, offer.contextLimit ?? 0),
      slots: offer.queue.slots,
      ...verdictOf(offer, memoryOf(node).freeBytes),
    })),
    ...members
      .filter(({ id, role, state }) =>
        !having.has(id) && role !== "controller" &&
        (state ?? "member") === "member"
      )
      .map(({ id, name }) => ({
        node: id,
        nodeName: name,
        engine: null,
        ...needOf(known?.memory),
        ...memoryOf(id),
        contextLength: known?.contextLength ?? null,
        contextLimit: null,
        slots: known?.queue.slots ?? null,
        ...verdictElsewhere(known?.memory, memoryOf(id)),
      })),
  ];
}

/** Whether a model can be had. */
type Verdict =
  | "loaded"
  | "fits"
  /** Once models that are idle have left. */
  | "fits_after_unloading"
  /** Others hold what it needs. */
  | "no_room_now"
  /** All of the machine's memory is too little. */
  | "too_large"
  | "unknown";

function verdictOf(
  { memory, misfit, state }: PlacedOffer["offer"],
  freeBytes: number | null,
): { readonly verdict: Verdict; readonly reason: string | null } {
  if (state.kind === "warm" || state.kind === "loading") {
    return { verdict: "loaded", reason: null };
  }
  if (misfit !== undefined) {
    const verdict = misfit.retryInMs === null ? "too_large" : "no_room_now";
    return { verdict, reason: misfit.reason };
  }
  if (memory === undefined || freeBytes === null) {
    return { verdict: "unknown", reason: null };
  }
  const isFree = neededMemory(memory) <= freeBytes;
  return { verdict: isFree ? "fits" : "fits_after_unloading", reason: null };
}

function verdictElsewhere(
  memory: MemoryNeed | undefined,
  { freeBytes, totalBytes }: {
    readonly freeBytes: number | null;
    readonly totalBytes: number | null;
  },
): { readonly verdict: Verdict; readonly reason: string | null } {
  const reason = "It does not have the model";
  if (memory === undefined || freeBytes === null || totalBytes === null) {
    return { verdict: "unknown", reason };
  }
  const needed = neededMemory(memory);
  if (needed > totalBytes) return { verdict: "too_large", reason };
  return { verdict: needed > freeBytes ? "no_room_now" : "fits", reason };
}

function needOf(memory: MemoryNeed | undefined): JsonObject {
  return {
    weightsBytes: memory?.weightsBytes ?? null,
    cacheBytes: memory?.cacheBytes ?? null,
    computeBytes: memory?.computeBytes ?? null,
    neededBytes: memory === undefined ? null : neededMemory(memory),
  };
}
