import type { JsonObject, JsonValue } from "../../../domain/mod.ts";
import type { HostState } from "./host_state.ts";

/** A state in which the model is loaded. */
export type ReadyState = Exclude<HostState, { readonly state: "loading" }>;

/**
 * What `GET /props` says, in llama-server's words.
 *
 * @param ready The loaded model.
 */
export function describeModel(ready: ReadyState): JsonObject {
  const model = ready.state === "chat" ? ready.host.chat : ready.host.embedding;
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
      n_ctx: ready.state === "chat"
        ? ready.host.chat.contextLength
        : ready.host.embedding.contextLength,
      is_processing: pool.busy.has(slot.id),
      n_prompt_tokens: progress?.promptTokens ?? 0,
      n_cached_tokens: progress?.cachedTokens ?? 0,
      n_decoded: progress?.decodedTokens ?? 0,
      n_waiting: pool.waiting,
    };
  });
}
