/**
 * What a caller wants of the model in memory, beside its answer: Ollama's
 * `keep_alive`, `num_ctx`, and requests that only load or unload. Engines that
 * run models of their own honour it; for others it means nothing.
 */
export interface Upkeep {
  /**
   * Idle time in milliseconds after which the model may leave memory: 0 at
   * once, null never. It holds until another request says otherwise or the
   * model leaves; absent where the caller did not say.
   */
  readonly keepAliveMs?: number | null;
  /** Tokens of context that the request must have; absent for the node's own setting. */
  readonly contextLength?: number;
  /** Set where no answer is wanted: the model is to be in memory, or out of it. */
  readonly only?: "load" | "unload";
  /** Whether an unload that an operator asked for ends a pin too; absent for no. */
  readonly evenPinned?: boolean;
}
