import type { Capability, ModelFeature } from "./capability.ts";
import type { JsonObject } from "./json.ts";
import type { Source } from "./source.ts";
import type { Upkeep } from "./upkeep.ts";

/**
 * An inference request after it was parsed at the edge, in the internal dialect
 * (OpenAI's). Everything the router and the engines need is here; nothing of
 * the HTTP request that brought it.
 */
export interface InferenceRequest {
  /** The kind of work. */
  readonly capability: Capability;
  /** The model as the caller named it. */
  readonly model: string;
  /** Where it may run. */
  readonly source: Source;
  /** Whether the answer is asked for as server-sent events. */
  readonly stream: boolean;
  /** Whether the caller asked for the usage chunk of a stream. */
  readonly includeUsage: boolean;
  /** The body without Covey's own fields; an adapter puts its own model name in. */
  readonly body: JsonObject;
  /** Prompt tokens (all inputs of an embedding together), counted or estimated. */
  readonly promptTokens: number;
  /** The caller's bound on output tokens, or null where none was given. */
  readonly maxOutputTokens: number | null;
  /** Number of inputs of an embedding or rerank request, 1 elsewhere. */
  readonly inputCount: number;
  /** What the request needs beyond the capability. */
  readonly needs: readonly ModelFeature[];
  /** Names the conversation this request belongs to, or null. */
  readonly conversation: string | null;
  /** Opaque tag of the caller, for fairness; never a key. */
  readonly client: string;
  /** Whether another engine may go on where a stream breaks off; absent for no. */
  readonly resumable?: boolean;
  /** What it wants of the model in memory; absent for nothing. */
  readonly upkeep?: Upkeep;
}
