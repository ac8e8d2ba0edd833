import type { IncomingMessage } from "node:http";
import type { Clock } from "@covey/core/platform";
import { LinkError } from "./link_error.ts";
import { afterListening } from "./listening_time.ts";

/** How long the rest of an answer nobody needs may take before its connection goes. */
const RELEASE_LIMIT_MS = 2000;

/** What an exchange is made of; the channel makes it. */
export interface ExchangeParts {
  readonly response: IncomingMessage;
  /** Rejects when the exchange breaks, however it does. */
  readonly failed: Promise<never>;
  /** Breaks it. */
  fail(error: Error): void;
  /** Why it broke, or undefined while it has not. */
  cause(): Error | undefined;
  readonly sentAtMs: number;
  readonly clock: Clock;
  onHeard(): void;
  /** Called when all that was wanted has come: who withdraws the request now does not mean its connection. */
  onServed(): void;
  /** Called once, when nothing more will come. */
  onEnd(): void;
}

/** The answer to one request, read piece by piece. */
export class LinkExchange {
  readonly status: number;
  readonly contentType: string;
  /** Monotonic time at which the request had its connection. */
  readonly sentAtMs: number;
  readonly #parts: ExchangeParts;
  readonly #pieces: AsyncIterator<Uint8Array>;
  #over = false;

  constructor(parts: ExchangeParts) {
    this.status = parts.response.statusCode ?? 0;
    this.contentType = parts.response.headers["content-type"] ?? "";
    this.sentAtMs = parts.sentAtMs;
    this.#parts = parts;
    // Reported to whoever reads; unheard it would end the process.
    parts.response.on("error", () => {});
    this.#pieces = parts.response[Symbol.asyncIterator]();
  }

  /**
   * Wait for the next piece.
   *
   * @param silenceMs Longest wait; the link is broken off when it passes.
   * @returns The piece, or null at the end of the answer.
   * @throws {LinkError} When the link breaks or stays silent; or what withdrew the request.
   */
  async read(silenceMs: number): Promise<Uint8Array | null> {
    const { cause, clock, failed, fail, response } = this.#parts;
    if (this.#over) return null;
    const timer = afterListening(
      clock,
      silenceMs,
      () => fail(new LinkError("timeout", "The member fell silent")),
    );
    try {
      const next = this.#pieces.next();
      // When the exchange fails first, this one fails too, later.
      next.catch(() => {});
      const piece = await Promise.race([next, failed]);
      this.#parts.onHeard();
      if (piece.done !== true) {
        const { buffer, byteOffset, length } = piece.value;
        return new Uint8Array(buffer, byteOffset, length);
      }
      if (!response.complete) {
        throw new LinkError("broken", "The answer ended early");
      }
      this.#end();
      return null;
    } catch (error) {
      this.#end();
      // A destroyed request may fail its body before it says why.
      throw cause() ??
        (error instanceof LinkError
          ? error
          : new LinkError("broken", "The connection broke", error));
    } finally {
      timer[Symbol.dispose]();
    }
  }

  /**
   * Read a whole answer.
   *
   * @param limitBytes Most bytes it may have.
   * @param limitMs Longest wait between two pieces.
   * @throws {LinkError} As `read`, and when it is too long.
   */
  async readAll(
    limitBytes: number,
    limitMs: number,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (;;) {
      const piece = await this.read(limitMs);
      if (piece === null) break;
      size += piece.length;
      if (size > limitBytes) {
        this.cancel();
        throw new LinkError(
          "protocol",
          `The member's answer has over ${limitBytes} bytes`,
        );
      }
      pieces.push(piece);
    }
    const whole = new Uint8Array(size);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  /**
   * Let what is left run out, so that the connection can serve again. What
   * withdraws the request has no effect any more.
   */
  async release(): Promise<void> {
    if (this.#over) return;
    this.#parts.onServed();
    try {
      while (await this.read(RELEASE_LIMIT_MS) !== null);
    } catch {
      // What was wanted has come; the connection is gone, which is all right.
    }
  }

  /** End it; the other side notices at once. */
  cancel(): void {
    if (this.#over) return;
    this.#end();
    this.#parts.fail(new LinkError("broken", "This node ended the request"));
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#parts.onEnd();
  }
}
