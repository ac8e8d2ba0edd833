import type { Capability, ModelFeature } from "./capability.ts";
import type { Availability, Hop, Offer } from "./engine.ts";
import type { NodeId } from "./identifier.ts";
import type { Tier } from "./machine.ts";

/** What a placement was made from, as plain data, so that it can be made again. */
export interface PlacementInputs {
  /** The entry node. */
  readonly self: NodeId;
  /** The asked name with all that it may stand for. */
  readonly model: {
    readonly asked: string;
    readonly other: string | null;
    readonly tiers?: readonly (readonly string[])[];
  };
  /** What is done. */
  readonly capability: Capability;
  /** Inputs of an embedding or rerank request, 1 elsewhere. */
  readonly inputCount: number;
  /** What the request needs beyond the capability. */
  readonly needs: readonly ModelFeature[];
  /** Answers that it wanted at once; absent for one. */
  readonly choices?: number;
  /** Expected output tokens: for queues, and for the published figure. */
  readonly expected: {
    readonly meanTokens: number;
    readonly medianTokens: number;
    /** What four of five answers stay within; absent in records of older nodes. */
    readonly p80Tokens?: number;
  };
  /** The weights it had to run on; absent for any. */
  readonly root?: string;
  /** Tokens of context that the caller wanted; absent for what there was. */
  readonly contextLength?: number;
  /** Whether it only wanted the model loaded; absent for no. */
  readonly loadsOnly?: boolean;
  /** Everybody that was weighed, in order. */
  readonly engines: readonly EngineInputs[];
}

/** One engine as a placement saw it. */
export interface EngineInputs {
  /** Unique over all nodes. */
  readonly key: string;
  /** Its node. */
  readonly node: NodeId;
  /** Name of that node. */
  readonly nodeName: string;
  /** Name of the engine on that node. */
  readonly engine: string;
  /** Whether it might be asked. */
  readonly availability: Availability;
  /** The way to it. */
  readonly hop: Hop;
  /** Its offers, as far as the placement rested on them. */
  readonly offers: readonly OfferInputs[];
  /** What kept it from being used, or null. */
  readonly bar:
    | {
      readonly kind: "breaker_open" | "cooling_down";
      readonly retryInMs: number;
    }
    | null;
  /** What failed attempts said against it; absent for nothing. */
  readonly doubt?: { readonly errors: number; readonly lostMs: number };
  /** Weight class of its node's machine; absent where nobody knew it. */
  readonly tier?: Tier;
}

/** One offer with what the entry knew beside it. */
export interface OfferInputs {
  /** As the engine stated it. */
  readonly offer: Offer;
  /** Expected work of the entry's own dispatches that its queue did not hold. */
  readonly unseenMs: readonly number[];
  /** Model of the last of them, or null. */
  readonly unseenModel: string | null;
  /** What predictions there were found to be off by. */
  readonly correction: number;
  /** Tokens of the prompt that were taken to be cached. */
  readonly cachedTokens: number;
}
