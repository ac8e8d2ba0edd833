import type { LlamaContextSequence } from "node-llama-cpp";
import type { Clock, Entropy } from "../../../platform/mod.ts";
import type { EmbeddingHost } from "./embedding_answer.ts";
import type { LoadedModel } from "./load_model.ts";
import type { RankingHost } from "./ranking_answer.ts";
import type { ChatHost } from "./running_answer.ts";
import { SlotPool } from "./slot_pool.ts";

/** Life of an engine process, as its routes see it. */
export type HostState =
  | { readonly state: "loading"; readonly progress: number }
  | { readonly state: "chat"; readonly host: ChatHost }
  | { readonly state: "embedding"; readonly host: EmbeddingHost }
  | { readonly state: "rerank"; readonly host: RankingHost };

/** Requests that may wait for a slot. */
const MAX_WAITING = 64;

/**
 * Make a loaded model ready to answer.
 *
 * @param model The model.
 * @param clock Measures its answers.
 * @param entropy Draws seeds and ids.
 */
export function readyState(
  model: LoadedModel,
  clock: Clock,
  entropy: Entropy,
): HostState {
  if (model.mode === "embedding") {
    const pool = new SlotPool([model.context], MAX_WAITING);
    return { state: "embedding", host: { embedding: model, pool, clock } };
  }
  if (model.mode === "rerank") {
    const pool = new SlotPool([model.context], MAX_WAITING);
    return { state: "rerank", host: { ranking: model, pool, clock } };
  }
  const pool = new SlotPool<LlamaContextSequence>(model.sequences, MAX_WAITING);
  return {
    state: "chat",
    host: { chat: model, pool, progress: new Map(), clock, entropy },
  };
}
