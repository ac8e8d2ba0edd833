import type { BegunAttempt } from "./attempt_loop.ts";
import type { SessionAnswer } from "./answer_session.ts";
import { streamOf } from "./whole_answer.ts";

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
