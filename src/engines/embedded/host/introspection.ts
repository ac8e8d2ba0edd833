import type { JsonObject, JsonValue } from "../../../domain/mod.ts";
import type { HostState } from "./host_state.ts";
import type { LoadedModel } from "./load_model.ts";

/** A state in which the model is loaded. */
export type ReadyState = Exclude<HostState, { readonly state: "loading" }>;

/** The model that a process has loaded. */
export function modelOf(ready: ReadyState): LoadedModel {
  switch (ready.state) {
    case "chat":
      return ready.host.chat;
    case "embedding":
      return ready.host.embedding;
    case "rerank":
      return ready.host.ranking;
    default: {
      const never: never = ready;
      return never;
    }
  }
}

/**
 * What `GET /props` says, in llama-server's words.
 *
 * @param ready The loaded model.
 */
export function describeModel(ready: ReadyState): JsonObject {
  const model = modelOf(ready);
  return {
    default_generation_settings: { n_ctx: model.contextLength },
    total_slots: ready.host.pool.slots.length,
    model_alias: model.name,
    mode: ready.state,
    chat_template: ready.state === "chat"
      ? ready.host.chat.template.source
      : null,
    bos_token: model.model.tokens.bosString,
    eos_token: model.model.tokens.eosString,
    n_vocab: model.vocabularySize,
    modalities: { vision: false, audio: false },
  };
}

/**
 * What `GET /slots` says: one entry a slot.
 *
 * @param ready The loaded model.
 */
export function describeSlots(ready: ReadyState): JsonValue {
  const { pool } = ready.host;
  return pool.slots.map((slot) => {
    const progress = ready.state === "chat"
      ? ready.host.progress.get(slot.id)
      : undefined;
    return {
      id: slot.id,
      n_ctx: modelOf(ready).contextLength,
      is_processing: pool.busy.has(slot.id),
      n_prompt_tokens: progress?.promptTokens ?? 0,
      n_cached_tokens: progress?.cachedTokens ?? 0,
      n_decoded: progress?.decodedTokens ?? 0,
      n_waiting: pool.waiting,
    };
  });
}
