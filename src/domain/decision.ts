import type { AttemptId, DecisionId, NodeId } from "./identifier.ts";

/** The addends of a completion time, in milliseconds. */
export interface Terms {
  readonly queueMs: number;
  readonly loadMs: number;
  /** What evicting warm models for this one costs. */
  readonly evictionMs: number;
  readonly prefillMs: number;
  readonly decodeMs: number;
  readonly hopMs: number;
}

/** One engine × model that was weighed, kept for `explain`. */
export interface CandidateRecord {
  readonly node: NodeId;
  readonly nodeName: string;
  readonly engine: string;
  readonly model: string;
  readonly eligible: boolean;
  /** Why it was not eligible, or what decided for or against it. */
  readonly reason: string;
  /** Predicted completion time: the terms' sum times the factor. */
  readonly estimateMs: number;
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
  readonly id: AttemptId;
  readonly node: NodeId;
  readonly engine: string;
  readonly model: string;
  readonly dispatch: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
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
  readonly ttftMs: number | null;
  readonly totalMs: number;
  readonly outputTokens: number;
  readonly promptTokens: number | null;
}

/** A placement with everything it rested on. Holds counts and digests, never text. */
export interface DecisionRecord {
  readonly id: DecisionId;
  readonly model: string;
  /** As said: `unsaid`, `local`, `cluster` or `node:…`. */
  readonly source: string;
  readonly policy: "local_first" | "balanced";
  /** Seed that ties were drawn from. */
  readonly seed: number;
  readonly promptTokens: number;
  readonly maxOutputTokens: number | null;
  readonly expectedOutputTokens: number;
  readonly chosen:
    | { readonly node: NodeId; readonly engine: string; readonly model: string }
    | null;
  readonly predictedMs: number | null;
  readonly candidates: readonly CandidateRecord[];
  readonly attempts: readonly AttemptRecord[];
  readonly actual: ActualRecord | null;
}
