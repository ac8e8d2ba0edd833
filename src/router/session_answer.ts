import { type PieceSource, streamOf as streamOfSource } from "../domain/mod.ts";
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
  /** The body in place of the stream, where it comes piece by piece. */
  readonly source?: PieceSource;
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

/** A stream of events; one of the runtime is made of it where somebody reads that. */
export class StreamedSessionAnswer implements SessionAnswer {
  readonly begun: BegunAttempt;
  readonly status = 200;
  readonly contentType = "text/event-stream";
  readonly retryAfter: null = null;
  readonly source: PieceSource;
  #body: ReadableStream<Uint8Array> | null = null;

  /**
   * @param begun The attempt that serves, or that is waited for.
   * @param source The events.
   */
  constructor(begun: BegunAttempt, source: PieceSource) {
    this.begun = begun;
    this.source = source;
  }

  /** @inheritdoc */
  get body(): ReadableStream<Uint8Array> {
    return this.#body ??= streamOfSource(this.source);
  }
}
