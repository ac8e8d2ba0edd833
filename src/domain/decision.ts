import type { AttemptId, DecisionId, NodeId } from "./identifier.ts";
import type { PlacementInputs } from "./placement_inputs.ts";

/** The addends of a completion time, in milliseconds. */
export interface Terms {
  /** Wait until a slot is free. */
  readonly queueMs: number;
  /** Time to load the model, or what is left of it. */
  readonly loadMs: number;
  /** What evicting warm models for this one costs others: a price in the choice, not a time in the estimate. */
  readonly evictionMs: number;
  /** Time to process the prompt. */
  readonly prefillMs: number;
  /** Time to generate the expected answer. */
  readonly decodeMs: number;
  /** Round trip to the node. */
  readonly hopMs: number;
}

/** One engine × model that was weighed, kept for `explain`. */
export interface CandidateRecord {
  /** Where the engine runs. */
  readonly node: NodeId;
  /** Name of that node. */
  readonly nodeName: string;
  /** The engine, by its name on that node. */
  readonly engine: string;
  /** The engine's own name for the model. */
  readonly model: string;
  /** Whether it could be chosen. */
  readonly eligible: boolean;
  /** Why it was not eligible, or what decided for or against it. */
  readonly reason: string;
  /** Predicted completion time: the times' sum (eviction apart) times the factor. */
  readonly estimateMs: number;
  /** What the estimate is made of. */
  readonly terms: Terms;
  /** What sensors, health and recent observations scale the sum by. */
  readonly factor: number;
  /** Prompt tokens that were taken to be in its cache; absent for none. */
  readonly cachedTokens?: number;
}

/** How an attempt ended. */
export type AttemptOutcome =
  | "running"
  | "answered"
  | "refused"
  | "failed"
  | "broken_off"
  | "cancelled"
  /** Taken back before it started, because another engine was free sooner. */
  | "withdrawn";

/** One attempt of a decision. Times count from the request's arrival. */
export interface AttemptRecord {
  /** Name of the attempt. */
  readonly id: AttemptId;
  /** Where it ran. */
  readonly node: NodeId;
  /** The engine, by its name on that node. */
  readonly engine: string;
  /** The engine's own name for the model. */
  readonly model: string;
  /** Number of this dispatch from the entry to that member. */
  readonly dispatch: number;
  /** When it was handed over. */
  readonly startedAtMs: number;
  /** When it ended, or null while it runs. */
  readonly endedAtMs: number | null;
  /** How it ended. */
  readonly outcome: AttemptOutcome;
  /** What went wrong, or null. */
  readonly reason: string | null;
  /** Completion time predicted for this attempt alone, in milliseconds. */
  readonly predictedMs?: number;
  /** Output tokens that the client had when this attempt went on with the answer. */
  readonly resumedAtTokens?: number;
  /** Inputs of a request whose inputs were divided: first and count. */
  readonly part?: { readonly from: number; readonly count: number };
}

/** What came of a decision. */
export interface ActualRecord {
  /** Time to the first content, or null where none came. */
  readonly ttftMs: number | null;
  /** Time to the end of the answer. */
  readonly totalMs: number;
  /** Tokens of the answer. */
  readonly outputTokens: number;
  /** Tokens of the prompt as the engine counted them, or null. */
  readonly promptTokens: number | null;
}

/** A placement with everything it rested on. Holds counts and digests, never text. */
export interface DecisionRecord {
  /** Name of the decision. */
  readonly id: DecisionId;
  /** The model as asked for. */
  readonly model: string;
  /** As said: `unsaid`, `local`, `cluster` or `node:…`. */
  readonly source: string;
  /** The rule for a source that was not said. */
  readonly policy: "local_first" | "balanced";
  /** Seed that ties were drawn from. */
  readonly seed: number;
  /** Tokens of the prompt as the entry counted them. */
  readonly promptTokens: number;
  /** The caller's bound on the answer, or null. */
  readonly maxOutputTokens: number | null;
  /** What the prediction took for the answer's length. */
  readonly expectedOutputTokens: number;
  /** Where it went first, or null when nobody could take it. */
  readonly chosen:
    | { readonly node: NodeId; readonly engine: string; readonly model: string }
    | null;
  /** Predicted completion time of the chosen one. */
  readonly predictedMs: number | null;
  /** What four of five such requests are predicted to stay within; null as above, absent in records of older nodes. */
  readonly predictedP80Ms?: number | null;
  /** All that were weighed, or where that are too many the best of them. */
  readonly candidates: readonly CandidateRecord[];
  /** How many more were weighed than these; absent for none. */
  readonly unlisted?: number;
  /** All that were tried, in order. */
  readonly attempts: readonly AttemptRecord[];
  /** What came of it, or null while it runs. */
  readonly actual: ActualRecord | null;
  /** What it was made from, so that it can be made again; absent where that was too much. */
  readonly inputs?: PlacementInputs;
}
