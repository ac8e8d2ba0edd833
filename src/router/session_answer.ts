import type { BegunAttempt } from "./attempt_loop.ts";
import { streamOf } from "./whole_answer.ts";

/** The head of what the client gets. */
export interface SessionAnswer {
  /** The attempt that serves, or that is waited for. */
  readonly begun: BegunAttempt;
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
  readonly body: ReadableStream<Uint8Array>;
  /** All of the body, where it is here in full. */
  readonly pieces?: readonly Uint8Array[];
}

/** An answer that is here in full; a stream of it is made where somebody reads one. */
export class WholeSessionAnswer implements SessionAnswer {
  readonly begun: BegunAttempt;
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
  readonly pieces: readonly Uint8Array[];

  /**
   * @param begun The attempt that served.
   * @param head Status and headers.
   * @param pieces All of the body.
   */
  constructor(
    begun: BegunAttempt,
    head: Pick<SessionAnswer, "status" | "contentType" | "retryAfter">,
    pieces: readonly Uint8Array[],
  ) {
    this.begun = begun;
    this.status = head.status;
    this.contentType = head.contentType;
    this.retryAfter = head.retryAfter;
    this.pieces = pieces;
  }

  /** @inheritdoc */
  get body(): ReadableStream<Uint8Array> {
    return streamOf(this.pieces);
  }
}
