import {
  fitsInto,
  type LocalModel,
  type MemoryNeed,
  type MemoryRoom,
} from "../../domain/mod.ts";

/** Keys and values are kept as 16-bit floats. */
const KEPT_BYTES = 2;
/** Intermediate results are 32-bit floats. */
const COMPUTED_BYTES = 4;
/** Most tokens that are evaluated at once: `BATCH_SIZE` of the engine's host. */
const BATCH_TOKENS = 512;
/** Results as wide as the stream between layers that are alive at a time in one layer, its wider inner ones among them. */
const LIVE_RESULTS = 12;
/** What of each token may see which other is a table of 16-bit floats. */
const MASK_BYTES = 2;
/** An engine process without a model: the runtime and llama.cpp itself. */
const PROCESS_BYTES = 100_000_000;
/** Of a header that does not tell the shape: what caches and buffers are together, by the weights. */
const UNKNOWN_SHARE = 0.2;
/** Without a wish a context is tried down to here before a model is called too large. */
const LEAST_CONTEXT = 2_048;
const LARGEST_CONTEXT = 32_768;
const CONTEXT_STEP = 256;
/** The part of all the machine's memory that one model may take by itself: the system and others live there too. */
const MOST_SHARE = 0.85;

/**
 * Estimate what a loaded model takes: its weights; keys and values of every
 * layer for each token of each slot; and for one batch the widest of its
 * results (the logits, or what a layer works with) with the attention's mask.
 * Attention itself is computed in pieces (flash attention, which llama.cpp
 * chooses by itself where the model allows it).
 *
 * @param model The model.
 * @param contextLength Tokens of context of a slot.
 * @param slots Slots.
 */
export function memoryNeed(
  { capabilities, shape, sizeBytes }: LocalModel,
  contextLength: number,
  slots: number,
): MemoryNeed {
  if (shape === undefined || shape === null) {
    const cacheBytes = Math.ceil(sizeBytes * UNKNOWN_SHARE);
    return { weightsBytes: sizeBytes, cacheBytes, computeBytes: 0 };
  }
  const embeds = capabilities.includes("embedding") ||
    capabilities.includes("rerank");
  // Pooling needs all of an input in one batch, and one input at a time.
  const batch = embeds ? contextLength : Math.min(BATCH_TOKENS, contextLength);
  const tokens = contextLength * (embeds ? 1 : slots);
  const widest = Math.max(
    embeds ? 0 : shape.vocabulary,
    LIVE_RESULTS * shape.width,
  );
  return {
    weightsBytes: sizeBytes,
    cacheBytes: shape.layers * shape.keptPerToken * KEPT_BYTES * tokens,
    computeBytes: PROCESS_BYTES +
      batch * (widest * COMPUTED_BYTES + contextLength * MASK_BYTES),
    layers: shape.layers,
  };
}

/**
 * Find the longest context with which a model fits into some memory.
 *
 * @param model The model.
 * @param slots Slots.
 * @param room The memory.
 * @param most Tokens that nobody needs more than.
 * @returns Tokens, a multiple of 256 unless it is `most` itself; 0 where not even 256 fit.
 */
export function contextWithin(
  model: LocalModel,
  slots: number,
  room: MemoryRoom,
  most: number,
): number {
  const fits = (tokens: number) =>
    fitsInto(memoryNeed(model, tokens, slots), room);
  if (fits(most)) return most;
  // What is needed grows with the context, so halving finds the edge.
  let low = 0;
  let high = Math.ceil(most / CONTEXT_STEP);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle * CONTEXT_STEP)) low = middle;
    else high = middle;
  }
  return low * CONTEXT_STEP;
}

/** What a load is decided by. */
export interface LoadTerms {
  /** What the operator said, or null. */
  readonly configured: number | null;
  readonly slots: number;
  /** All memory that there is, or null where nobody knows. */
  readonly total: MemoryRoom | null;
}

/**
 * Tokens of context a slot gets where nobody asks for more: what the operator
 * said, or the model's own up to 32,768 as far as this machine's memory goes;
 * never more than the model was trained for.
 *
 * @param model The model.
 * @param terms What it depends on.
 */
export function usualContext(
  model: LocalModel,
  { configured, slots, total }: LoadTerms,
): number {
  if (configured !== null) return Math.min(configured, model.contextLength);
  const most = Math.min(LARGEST_CONTEXT, model.contextLength);
  if (total === null) return most;
  const fitting = contextWithin(model, slots, mostOf(total), most);
  return Math.max(fitting, leastContext(most));
}

/**
 * Say what a model would be loaded with where nobody asks for more.
 *
 * @param model The model.
 * @param terms What it depends on.
 */
export function reckonLoad(
  model: LocalModel,
  terms: LoadTerms,
): {
  readonly contextLength: number;
  readonly slots: number;
  readonly memory: MemoryNeed;
} {
  const { slots } = terms;
  const contextLength = usualContext(model, terms);
  return {
    contextLength,
    slots,
    memory: memoryNeed(model, contextLength, slots),
  };
}

/**
 * Tokens of context below which a model is called too large, rather than given
 * less.
 *
 * @param usual What it gets where memory is no matter.
 */
export function leastContext(usual: number): number {
  return Math.min(LEAST_CONTEXT, usual);
}

/**
 * Tokens of context that a request may ask for.
 *
 * @param model The model.
 * @param terms What it depends on.
 * @returns No less than the usual.
 */
export function largestContext(
  model: LocalModel,
  terms: LoadTerms,
): number {
  const { slots, total } = terms;
  const possible = total === null
    ? model.contextLength
    : contextWithin(model, slots, mostOf(total), model.contextLength);
  return Math.max(possible, usualContext(model, terms));
}

/** What one model may take of it: nobody else has a use for cards. */
function mostOf({ cardBytes, ramBytes }: MemoryRoom): MemoryRoom {
  return { cardBytes, ramBytes: ramBytes * MOST_SHARE };
}
