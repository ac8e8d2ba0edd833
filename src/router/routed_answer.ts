import type {
  DecisionId,
  NodeId,
  PieceSource,
  RoutedAnswer,
} from "../domain/mod.ts";
import type { SessionAnswer } from "./session_answer.ts";
import type { Estimate } from "./estimate.ts";

/**
 * What a session brought, as the API takes it. A class, since V8 keeps each
 * object whose literal has an accessor until it collects all garbage, and with
 * it all that the accessor can see: 3 KB of every request lay about that long.
 */
export class SessionRoutedAnswer implements RoutedAnswer {
  readonly decision: DecisionId;
  readonly node: NodeId;
  readonly model: string;
  readonly predictedMs: number;
  readonly predictedP80Ms: number;
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
  readonly pieces?: readonly Uint8Array[];
  readonly source?: PieceSource;
  readonly #answer: SessionAnswer;

  /**
   * @param decision The decision behind it.
   * @param answer What the session brought.
   * @param estimate What was predicted.
   */
  constructor(
    decision: DecisionId,
    answer: SessionAnswer,
    { estimateMs, p80Ms }: Pick<Estimate, "estimateMs" | "p80Ms">,
  ) {
    const { engine, offer } = answer.begun.candidate;
    this.#answer = answer;
    this.decision = decision;
    this.node = engine.node;
    this.model = offer.model;
    this.predictedMs = estimateMs;
    this.predictedP80Ms = p80Ms;
    this.status = answer.status;
    this.contentType = answer.contentType;
    this.retryAfter = answer.retryAfter;
    if (answer.pieces !== undefined) this.pieces = answer.pieces;
    if (answer.source !== undefined) this.source = answer.source;
  }

  /** Made where somebody reads it. */
  get body(): ReadableStream<Uint8Array> {
    return this.#answer.body;
  }
}
