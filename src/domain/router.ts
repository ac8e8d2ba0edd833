import type { Capability, ModelFeature } from "./capability.ts";
import type { DecisionRecord } from "./decision.ts";
import type { Attempt, Availability, Offer, StartResult } from "./engine.ts";
import type { DecisionId, NodeId } from "./identifier.ts";
import type { Conditions, MachineReading, Tier } from "./machine.ts";
import type { PieceSource } from "./piece_source.ts";
import type { InferenceRequest } from "./request.ts";
import type { Source } from "./source.ts";
import type { TestReport } from "./test_task.ts";

/** An answer on its way to the client, in the internal dialect. */
export interface RoutedAnswer {
  /** The decision behind it. */
  readonly decision: DecisionId;
  /** The node that serves it. */
  readonly node: NodeId;
  /** The served model's name on its engine. */
  readonly model: string;
  /** Predicted completion time. */
  readonly predictedMs: number;
  /** What four of five such requests are predicted to stay within; absent where nobody reckoned it. */
  readonly predictedP80Ms?: number;
  /** An engine's own error passes through with its status and bytes. */
  readonly status: number;
  /** What the body is. */
  readonly contentType: string;
  /** The engine's own Retry-After header, or null. */
  readonly retryAfter: string | null;
  /**
   * The answer. A stream that breaks off after its first content ends in an
   * OpenAI error event without the terminator; cancelling stops the engine.
   */
  readonly body: ReadableStream<Uint8Array>;
  /** All of the body, where it is here in full: then `body` need not be read. */
  readonly pieces?: readonly Uint8Array[];
  /** The body for who needs no stream, where it comes piece by piece: whoever takes it leaves `body` alone. */
  readonly source?: PieceSource;
}

/** One model as `/v1/models` lists it, over all engines that offer it. */
export interface ModelListing {
  /** Its name. */
  readonly model: string;
  /** What it can be asked for somewhere. */
  readonly capabilities: readonly Capability[];
  /** The longest context that is offered. */
  readonly contextLength: number;
  /** Nodes that offer it. */
  readonly nodes: readonly NodeId[];
  /** Whether it is warm somewhere. */
  readonly warm: boolean;
  /** What it can do somewhere beyond its capabilities; absent where that was not gathered. */
  readonly features?: readonly ModelFeature[];
  /** Size of its weights in bytes, the largest there is; absent where nobody knows. */
  readonly sizeBytes?: number;
  /** What identifies its weights; absent where nobody knows, or where engines differ. */
  readonly root?: string;
}

/** What one node tells its peers about its work. */
export interface WorkReport {
  /** This node's engines and their models. */
  readonly engines: readonly {
    readonly id: string;
    readonly offers: readonly Offer[];
  }[];
  /** Per entry node, the highest dispatch number this node has taken. */
  readonly dispatchesSeen: Readonly<Record<NodeId, number>>;
  /** Whether it takes no more work; absent for no. */
  readonly draining?: boolean;
  /** Requests of its clients and attempts of its peers that are not over; absent in a report of an older node. */
  readonly inFlight?: number;
  /** Its weight class, 1 the strongest; absent where nobody knows it. */
  readonly tier?: Tier;
  /** The machine as its sensors see it; absent where nobody watches it. */
  readonly machine?: MachineReading;
  /** Whether the machine is fit for work; absent where nobody watches it. */
  readonly conditions?: Conditions;
  /** Why its engines are not for peers now, as a clause that follows its name; absent when they are. */
  readonly withheld?: string;
}

/** A breaker's state, for people. */
export type BreakerState = "closed" | "open" | "half_open";

/** How this entry node's attempts fare at one engine. */
export interface EngineStanding {
  /** Its name on the node. */
  readonly engine: string;
  /** State of its breaker. */
  readonly breaker: BreakerState;
  /** How long it rests after a 429, in milliseconds; 0 for not at all. */
  readonly restsForMs: number;
  /** Whether it may be asked. */
  readonly availability: Availability;
}

/** How this entry node's attempts fare at one node. */
export interface NodeStanding {
  /** The node. */
  readonly node: NodeId;
  /** Its name. */
  readonly nodeName: string;
  /** Of the link to it. */
  readonly breaker: BreakerState;
  /** Its engines. */
  readonly engines: readonly EngineStanding[];
  /** Attempts that run or wait there, of whatever entry, as far as is known. */
  readonly inFlight: number;
}

/** One engine's offer of a model. */
export interface PlacedOffer {
  /** The engine's node. */
  readonly node: NodeId;
  /** Its name. */
  readonly nodeName: string;
  /** The engine's name on it. */
  readonly engine: string;
  /** What it says of the model. */
  readonly offer: Offer;
}

/** What an engine did when it was asked to let go of a model. */
export interface UnloadOutcome {
  /** The engine's node. */
  readonly node: NodeId;
  /** Its name. */
  readonly nodeName: string;
  /** The engine's name on it. */
  readonly engine: string;
  /** Its own name for the model. */
  readonly model: string;
  /** Whether the model is out of memory. */
  readonly unloaded: boolean;
  /** Why it is not, as a sentence or clause; null where it is. */
  readonly reason: string | null;
}

/** The one dispatcher, as the API and the cluster see it. */
export interface Router {
  /**
   * Place a request and run it, failing over as long as the client has seen no
   * content. Resolves with the first content byte of a stream, or with queued
   * comments after 10 s; with a whole answer otherwise.
   *
   * @param request What the client asked.
   * @param signal Aborted when the client leaves.
   * @throws {Fault} When nobody could serve it.
   */
  route(request: InferenceRequest, signal: AbortSignal): Promise<RoutedAnswer>;
  /**
   * Take an attempt that a peer sent, on this node's own engines only.
   *
   * @param engine Id of the engine the peer chose.
   */
  serve(
    engine: string,
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<StartResult>;
  /** Every model that some engine offers, sorted by name. */
  models(): readonly ModelListing[];
  /**
   * What engines say of models, as they are now.
   *
   * @param model Any spelling of the one that is meant; absent for all.
   */
  offers(model?: string): readonly PlacedOffer[];
  /**
   * Ask every engine in reach that has a model in memory to let go of it.
   *
   * @param model Any spelling of its name.
   * @param order Whose engines, and whether pins end too.
   * @param signal Aborting it ends the wait.
   * @returns What came of it; none where it was in no memory.
   * @throws {Fault} `model_not_found`.
   */
  unload(
    model: string,
    order: { readonly source: Source; readonly evenPinned: boolean },
    signal: AbortSignal,
  ): Promise<readonly UnloadOutcome[]>;
  /** What this node's own engines offer, for its peers. */
  report(): WorkReport;
  /**
   * Prove to members for which this node was away that its engines work: by one
   * token of a warm model, else by what the engines say of themselves. It loads
   * nothing, costs nothing, and its result is shared for 10 s. Absent where
   * nothing can be tested.
   */
  testEngines?(): Promise<TestReport>;
  /** Every node with engines, this one first, as this node's attempts fared there. */
  standing(): readonly NodeStanding[];
  /**
   * Take no more work on this node's engines, or take it again. What runs is
   * finished; requests that come to this node go to its peers.
   */
  drain(draining: boolean): void;
  /** Whether this node drains. */
  isDraining(): boolean;
  /** A decision that is still in the bounded log, newest state. */
  decision(id: DecisionId): DecisionRecord | undefined;
  /**
   * The latest decisions in the bounded log, newest first.
   *
   * @param limit How many at most.
   */
  latestDecisions(limit: number): readonly DecisionRecord[];
}
