import type { EngineAnswer } from "./engine.ts";
import { type PieceSource, streamOf } from "./piece_source.ts";

/**
 * An engine's answer of which a stream is made only where somebody reads one. A
 * class, because V8 keeps an object whose literal has an accessor, and all that
 * it sees, until it collects all garbage.
 */
export class SourcedAnswer implements EngineAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
  readonly source: PieceSource;
  #body: ReadableStream<Uint8Array> | null = null;

  /**
   * Put a body behind a head.
   *
   * @param head Status and headers.
   * @param source The bytes.
   */
  constructor(
    head: Pick<EngineAnswer, "status" | "contentType" | "retryAfter">,
    source: PieceSource,
  ) {
    this.status = head.status;
    this.contentType = head.contentType;
    this.retryAfter = head.retryAfter;
    this.source = source;
  }

  get body(): ReadableStream<Uint8Array> {
    return this.#body ??= streamOf(this.source);
  }
}
