import type { Capability, ModelFeature } from "./capability.ts";
import type { MemoryNeed, Misfit, Residency } from "./memory_fit.ts";
import type { AttemptId, NodeId } from "./identifier.ts";
import type { Tier } from "./machine.ts";
import type { PieceSource } from "./piece_source.ts";
import type { Rates } from "./rates.ts";
import type { InferenceRequest } from "./request.ts";

/** Whether a model's weights are in memory. */
export type LoadState =
  | { readonly kind: "cold" }
  /** Being loaded; `remainingMs` is what is predicted to be left, `progress` the part that is done (0 to 1), where the engine says so. */
  | {
    readonly kind: "loading";
    readonly remainingMs: number;
    readonly progress?: number;
  }
  /** Loaded; `loadTimeMs` is what the load took, or null where it was not seen. */
  | { readonly kind: "warm"; readonly loadTimeMs: number | null }
  /** Can not be loaded now; tried again no sooner than `retryInMs` from now. */
  | {
    readonly kind: "failed";
    readonly reason: string;
    readonly retryInMs: number;
  };

/**
 * The work of one device (a processor or card that engines share), as its
 * owner sees it. Times are expectations, counted from the moment of the view.
 */
export interface QueueReport {
  /** Sequences that the device runs side by side. */
  readonly slots: number;
  /** Expected milliseconds left of each running attempt. */
  readonly runningMs: readonly number[];
  /** Expected milliseconds of work of each waiting attempt, first to start first. */
  readonly waitingMs: readonly number[];
}

/** One model that an engine offers, with everything an estimate needs. */
export interface Offer {
  /** The engine's own name for the model. */
  readonly model: string;
  /** SHA-256 that identifies the weights (see design.md 8, root), or null where unknown. */
  readonly root: string | null;
  /** What it can be asked for. */
  readonly capabilities: readonly Capability[];
  /** What it can do beyond that. */
  readonly features: readonly ModelFeature[];
  /** Tokens that prompt and answer may have together. */
  readonly contextLength: number;
  /** Size of the weights, or null where unknown. */
  readonly sizeBytes: number | null;
  /** Whether its weights are in memory. */
  readonly state: LoadState;
  /** Name of the device whose queue this model's work enters. */
  readonly device: string;
  /** Work of its device. */
  readonly queue: QueueReport;
  /** How fast it is here. */
  readonly rates: Rates;
  /**
   * Whether the model is loaded once all that waits for the device has had its
   * turn, where that differs from its state now; absent where it does not.
   */
  readonly loadedAfterQueue?: boolean;
  /** Tokens that a load could give a request that asks for them; absent where that is `contextLength`. */
  readonly contextLimit?: number;
  /** What it takes of the memory; absent where nobody reckoned it. */
  readonly memory?: MemoryNeed;
  /** How it stands in memory; absent where it does not, or the engine does not say. */
  readonly residency?: Residency;
  /** Why it can not be loaded now, or ever, for want of memory; absent where it can. */
  readonly misfit?: Misfit;
  /** Models that a load of this one would push out of memory; absent for none. */
  readonly evicts?: readonly Eviction[];
  /** Prompts whose evaluated state it keeps for reuse; absent for one a slot. */
  readonly cachedPrompts?: number;
  /**
   * Name of the process that computes it now, another one for each start;
   * absent where none stands or nobody knows.
   */
  readonly process?: string;
  /**
   * Whether each use is paid for; absent for no. A request gets there by the
   * model's own name, or by a set that spells it out up to its first slash.
   */
  readonly isPaid?: boolean;
}

/** A warm model that would have to go for another one. */
export interface Eviction {
  /** The engine's own name for it. */
  readonly model: string;
  /** What loading it again takes. */
  readonly reloadMs: number;
  /** Since its last use. */
  readonly idleMs: number;
  /** Idle time after which it would be unloaded anyway; absent for never. */
  readonly keepMs?: number;
  /** Chance, from 0 to 1, that it is asked for again before that; absent where nobody counted. */
  readonly reuseChance?: number;
}

/** Whether an engine may be asked at all. */
export type Availability =
  | { readonly kind: "available" }
  /** Used, with its estimate doubled (design.md 6, health). */
  | { readonly kind: "degraded"; readonly reason: string }
  | { readonly kind: "unavailable"; readonly reason: string };

/** Round trip to the engine's node, measured; zero for this node's own. */
export interface Hop {
  /** Middle of recent round trips. */
  readonly medianMs: number;
  /** How much they vary. */
  readonly jitterMs: number;
}

/** Finds offers without looking at all of them. */
export interface OfferIndex {
  /** Those under a name as the engine spells it. */
  named(model: string): readonly Offer[];
  /** Those with these weights. */
  rooted(root: string): readonly Offer[];
  /** What identifies the weights of one, or null where that or the model is unknown. */
  rootOf(model: string): string | null;
  /** Those whose weights are in memory. */
  warm(): readonly Pick<Offer, "model" | "root">[];
}

/** Offers as their engine stated them some time ago. Nothing about them is made anew for a look at them. */
export interface StatedOffers {
  /** All of them. */
  readonly list: readonly Offer[];
  /** Finds one among them. */
  readonly table: OfferIndex;
  /** Local time since their load states were stated. */
  readonly stateAgeMs: number;
  /** The queue that counts in place of theirs, because it was stated later; null for theirs. */
  readonly queue: QueueReport | null;
  /** Local time since the queue that counts was stated. */
  readonly queueAgeMs: number;
  /** One of them as it should be now. */
  bring(offer: Offer): Offer;
}

/** What an engine says of itself, taken at one moment. */
export interface EngineView {
  /** Whether it may be asked. */
  readonly availability: Availability;
  /** Round trip to its node. */
  readonly hop: Hop;
  /** Its models. */
  readonly offers: readonly Offer[];
  /** Finds one among them where that is cheaper than to list them; absent where it is not. */
  readonly index?: OfferIndex;
  /** The same offers as they were stated, where only time has passed since; absent where each is made when asked for. */
  readonly stated?: StatedOffers;
  /**
   * Highest number of this node's own dispatches that the queue reports already
   * hold. `Infinity` where the view is live (this node's engines).
   */
  readonly dispatchesSeen: number;
  /** Weight class of its node's machine, 1 the strongest; absent where nobody knows it. */
  readonly tier?: Tier;
}

/** What another engine wrote of an answer before it broke off. */
export interface Resume {
  /** Text that the client has already. */
  readonly text: string;
  /** Output tokens of it. */
  readonly tokens: number;
}

/** One try at one engine. */
export interface Attempt {
  /** Name of the attempt. */
  readonly id: AttemptId;
  /** The node the client called. */
  readonly entry: NodeId;
  /** Number of this dispatch from that entry to that member, counting from 1. */
  readonly dispatch: number;
  /** What the client asked. */
  readonly request: InferenceRequest;
  /** The engine's own name for the model. */
  readonly model: string;
  /** Output tokens the entry expects, for the member's queue. */
  readonly expectedOutputTokens: number;
  /** Completion time the entry predicted, in milliseconds. */
  readonly predictedMs: number;
  /** Prompt tokens the entry expects to be in the engine's cache; absent for none. */
  readonly cachedTokens?: number;
  /**
   * Goes to engines that offer `resume` alone. They take the prompt and this
   * text as what to prefill, answer with what follows it, and report the usage
   * of the whole answer: the prompt alone, and these tokens with the new ones.
   */
  readonly resume?: Resume;
}

/** What an engine answered: a status, and bytes of the internal dialect. */
export interface EngineAnswer {
  /** HTTP status. */
  readonly status: number;
  /** What the body is. */
  readonly contentType: string;
  /** The engine's own Retry-After header, unparsed, or null. */
  readonly retryAfter: string | null;
  /** Cancelling it, or aborting the attempt's signal, stops the engine. */
  readonly body: ReadableStream<Uint8Array>;
  /** The same bytes without a stream; absent where there is only that. Whoever takes them leaves `body` alone, and the other way round. */
  readonly source?: PieceSource;
}

/** How an engine took an attempt. */
export type StartResult =
  | {
    readonly kind: "accepted";
    /** The device's queue with this attempt in it. */
    readonly queue: QueueReport;
    /**
     * Wait for the answer's head. May be called once.
     *
     * @throws {Fault} When the engine fails before it answered.
     */
    answer(): Promise<EngineAnswer>;
    /**
     * Take the attempt back before it has started. Resolves within a second;
     * absent where the engine has no queue that can give it back.
     *
     * @returns Whether it left the queue unstarted; false when it has started or ended.
     */
    withdraw?(): Promise<boolean>;
  }
  | {
    readonly kind: "refused";
    readonly reason: Refusal;
    readonly message: string;
    /** When to ask again, or null where that is unknown. */
    readonly retryAfterMs: number | null;
  };

/** Why an engine did not take an attempt. None of these is a failure of the engine. */
export type Refusal =
  | "queue_full"
  | "duplicate_attempt"
  | "draining"
  | "model_not_here"
  | "not_lent";

/**
 * The one port through which work is done: a local engine, a queue in front of
 * it, a peer and a provider all look like this, and nothing downstream asks
 * which it is.
 */
export interface Engine {
  /** The node it runs on. */
  readonly node: NodeId;
  /** Name of that node, for people. */
  readonly nodeName: string;
  /** Name of the engine, unique on its node. */
  readonly id: string;
  /** Whether its node may run a short request of its own on it to learn its speed; absent for no. */
  readonly isMeasurable?: boolean;
  /** Whether it lets go of a model when a request only asks for that (see `Upkeep`); absent for no. */
  readonly canUnload?: boolean;
  /** Whether it serves requests that came to this node alone, and peers do not hear of it; absent for no. */
  readonly isPrivate?: boolean;
  /**
   * A fresh view. Cheap: called for every placement.
   *
   * @param nowMs Monotonic time, where many engines are looked at at once.
   */
  view(nowMs?: number): EngineView;
  /**
   * Hand over an attempt.
   *
   * @param attempt What to do.
   * @param signal Aborting it withdraws, cancels or stops the attempt, whatever it has come to.
   * @throws {Fault} When the engine could not be reached or broke.
   */
  start(attempt: Attempt, signal: AbortSignal): Promise<StartResult>;
}
