import type { PieceSource } from "../../domain/mod.ts";
import type { AnswerHead } from "./answer_head.ts";
import { AnswerParser } from "./answer_parser.ts";
import { keepsAlive } from "./body_framing.ts";
import type { PlainConnection } from "./plain_connection.ts";

/**
 * A kept connection was over before it had taken the whole of a request. Half a
 * request is run by nobody, so that it may be sent again; one that was sent
 * whole may have been, whatever came of the connection then.
 */
export class UnsentError extends Error {
  override readonly name = "UnsentError";
}

/** One request on a connection, and the body of its answer. */
export class PlainExchange implements PieceSource {
  readonly #connection: PlainConnection;
  readonly #signal: AbortSignal;
  readonly #onReusable: (head: AnswerHead) => void;
  readonly #parser = new AnswerParser();
  readonly #onAbort = () => this.#finish();
  /** What of the body came with the head. */
  #first: Uint8Array | null = null;
  #isSent = false;
  #isFinished = false;
  #isLost = false;

  /**
   * @param connection At work for this alone.
   * @param signal Aborting it closes the connection, until the body is over.
   * @param onReusable Called when the connection can be asked again; else it is closed.
   */
  constructor(
    connection: PlainConnection,
    signal: AbortSignal,
    onReusable: (head: AnswerHead) => void,
  ) {
    this.#connection = connection;
    this.#signal = signal;
    this.#onReusable = onReusable;
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  get isOver(): boolean {
    return this.#parser.isOver && this.#first === null;
  }

  /** Whether a kept connection proved to be over before an answer began. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Send the request and wait for the head of its answer.
   *
   * @param request All of its bytes.
   * @throws {UnsentError} When a kept connection proves to be over already.
   * @throws {MalformedAnswerError} When what comes is no answer.
   * @throws {Error} What the connection broke with, or the signal's reason.
   */
  async ask(request: Uint8Array): Promise<AnswerHead> {
    if (this.#signal.aborted) {
      this.#finish();
      throw this.#signal.reason;
    }
    const sending = this.#connection.write(request).then(() => {
      this.#isSent = true;
    });
    // Who refuses a request early need not read it to its end.
    sending.catch(() => {});
    try {
      for (;;) {
        const piece = await this.#connection.read(this.#parser);
        const { head } = this.#parser;
        if (head === null) continue;
        if (piece.length > 0) this.#first = piece;
        if (this.#parser.isOver) this.#finish();
        return head;
      }
    } catch (error) {
      const mayBeUnsent = this.#connection.isKept && !this.#parser.isTouched;
      this.#isLost = mayBeUnsent && !this.#signal.aborted;
      if (mayBeUnsent) await sending.catch(() => {});
      this.#finish();
      if (this.#signal.aborted) throw this.#signal.reason;
      throw mayBeUnsent && !this.#isSent
        ? new UnsentError("The kept connection was over", { cause: error })
        : error;
    }
  }

  async read(): Promise<Uint8Array | undefined> {
    const first = this.#first;
    this.#first = null;
    if (first !== null) return first;
    if (this.#parser.isOver) return undefined;
    if (this.#signal.aborted) throw this.#signal.reason;
    try {
      let piece: Uint8Array;
      do piece = await this.#connection.read(this.#parser); while (
        piece.length === 0 && !this.#parser.isOver
      );
      if (this.#parser.isOver) this.#finish();
      return piece.length === 0 ? undefined : piece;
    } catch (error) {
      this.#finish();
      throw this.#signal.aborted ? this.#signal.reason : error;
    }
  }

  // deno-lint-ignore require-await
  async cancel(): Promise<void> {
    this.#first = null;
    this.#finish();
  }

  /** Let go of the connection: to be asked again where that is sound. */
  #finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#signal.removeEventListener("abort", this.#onAbort);
    const { head, isClean } = this.#parser;
    if (isClean && this.#isSent && head !== null && keepsAlive(head)) {
      this.#onReusable(head);
    } else {
      this.#connection.close();
    }
  }
}
