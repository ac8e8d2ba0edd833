import type {
  Capability,
  EngineView,
  ModelFeature,
  NodeId,
  Offer,
  Source,
} from "../domain/mod.ts";
import type { Estimate } from "./estimate.ts";
import type { ModelName } from "./model_name.ts";
import type { ExpectedOutput } from "./output_length.ts";

/** Why an engine rests although it is there. */
export type Bar =
  | { readonly kind: "breaker_open"; readonly retryInMs: number }
  | { readonly kind: "cooling_down"; readonly retryInMs: number };

/** Failures of the last minute, at an engine or on the way to it. */
export interface Doubt {
  readonly errors: number;
  /** Time that the latest of them took, in milliseconds. */
  readonly lostMs: number;
}

/** One engine as a placement sees it. */
export interface EngineSnapshot {
  /** Unique over all nodes. */
  readonly key: string;
  readonly node: NodeId;
  readonly nodeName: string;
  readonly engine: string;
  readonly view: EngineView;
  /** Expected work of this entry's dispatches to a device that the view does not hold. */
  unseenMs(device: string): readonly number[];
  /** Model of this entry's last dispatch to a device that the view does not hold; absent for none. */
  unseenModel?(device: string): string | null;
  /** What this entry found predictions for a model there to be off by; absent for 1. */
  correction?(model: string): number;
  /** Name of the process that computes a model there, or null; absent for null. */
  process?(model: string): string | null;
  /** What keeps it from being used now, or null. */
  readonly bar: Bar | null;
  /** What this entry's failed attempts there say against it; absent for nothing. */
  readonly doubt?: Doubt | null;
  /** Tokens of the prompt that one of its models is taken to have cached; absent for none. */
  cachedTokens?(model: string): number;
}

/** The part of a request that a placement rests on. */
export interface Demand {
  readonly model: ModelName;
  readonly capability: Capability;
  readonly source: Source;
  readonly promptTokens: number;
  readonly inputCount: number;
  readonly needs: readonly ModelFeature[];
  /** Of each answer that it wants. */
  readonly expected: ExpectedOutput;
  /** Answers that it wants at once; absent for one. */
  readonly choices?: number;
  /** The weights it must run on, to go on with an answer; absent for any. */
  readonly root?: string;
  /** Tokens of context that the caller wants it to have; absent for what there is. */
  readonly contextLength?: number;
  /** Whether it computes nothing and only wants the model loaded; absent for no. */
  readonly loadsOnly?: boolean;
}

/** An engine that offers the model, eligible or not. */
export interface Candidate {
  readonly engine: EngineSnapshot;
  readonly offer: Offer;
  readonly estimate: Estimate;
  /** Why it is not eligible, or null. */
  readonly unfit: Unfit | null;
  /** Which of the asked name's sets its model belongs to: 0 before all fallbacks. */
  readonly tier: number;
  /** What its prediction was multiplied with for this entry's own experience there. */
  readonly correction: number;
  /** Tokens of the prompt that are taken to be cached there. */
  readonly cachedTokens: number;
}

/** Why a candidate cannot serve a request. */
export type Unfit =
  | { readonly kind: "capability"; readonly reason: string }
  | { readonly kind: "feature"; readonly reason: string }
  | { readonly kind: "context"; readonly reason: string }
  /** It can not have the context that the caller asked for. */
  | { readonly kind: "context_wish"; readonly reason: string }
  | {
    readonly kind: "memory";
    readonly reason: string;
    /** Null where all of the machine's memory is too little. */
    readonly retryInMs: number | null;
  }
  | { readonly kind: "source"; readonly reason: string }
  | {
    readonly kind: "unavailable";
    readonly reason: string;
    readonly retryInMs: number | null;
  }
  | {
    readonly kind: "cooling_down";
    readonly reason: string;
    readonly retryInMs: number;
  };
