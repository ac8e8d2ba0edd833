import {
  type JsonObject,
  neededMemory,
  type PlacedOffer,
} from "../domain/mod.ts";

/** A program that starts with each request is in nobody's memory, ready as it is. */
function isHeldByNobody(
  { capabilities, memory, residency, sizeBytes, state }: PlacedOffer["offer"],
): boolean {
  return state.kind === "warm" && memory === undefined &&
    residency === undefined && sizeBytes === null &&
    capabilities.every((one) => one === "speech" || one === "transcription");
}

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
  if (state.kind === "cold" || isHeldByNobody(offer)) return null;
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
    cardBytes: residency?.cardBytes ?? null,
    contextLength,
    expiresInMs: residency?.expiresInMs ?? null,
    pinned: residency?.isPinned ?? null,
    inUse: residency?.isInUse ?? null,
  };
}
