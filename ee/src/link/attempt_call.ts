import {
  type Attempt,
  type EngineAnswer,
  Fault,
  type PieceSource,
  type QueueReport,
  SourcedAnswer,
  type StartResult,
} from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import { AnswerDecoder } from "./answer_decoder.ts";
import { ANSWER_MEDIA_TYPE } from "./answer_encoder.ts";
import type { AnswerFrame } from "./answer_frame.ts";
import { encodeAttempt } from "./attempt_wire.ts";
import { NoTurnError } from "./dial_turns.ts";
import { LinkError } from "./link_error.ts";
import type { LinkExchange } from "./link_exchange.ts";
import type { MemberChannel } from "./member_channel.ts";
import { withdrawAttempt } from "./withdraw_call.ts";
import { WireError } from "./wire_error.ts";

/** Within the 15 s that the shortest attempt has for its first byte. */
const TURN_LIMIT_MS = 10_000;
const ACCEPTED_LIMIT_MS = 2000;
/** What a body may take on its way, at 16 Mbit/s. */
const BODY_BYTES_PER_MS = 2000;
/** A member speaks each second; this long a silence means that the link is gone. */
const SILENCE_LIMIT_MS = 4000;

/** What a call needs and whom it tells. */
export interface CallOptions {
  readonly channel: MemberChannel;
  readonly clock: Clock;
  /** Name of the member, for messages. */
  readonly nodeName: string;
  readonly engine: string;
  /** The member took the attempt: its queue then, and the round trip it took. */
  onAccepted(accepted: {
    readonly queue: QueueReport;
    readonly dispatchesSeen: number;
    readonly roundTripMs: number;
  }): void;
  /** The link failed under the attempt. */
  onLinkFailure(): void;
}

/**
 * Send an attempt to a peer.
 *
 * @param options Where to and through what.
 * @param attempt The attempt; its id lets the peer recognise a second arrival.
 * @param signal Aborting it closes the connection, which stops the peer's engine.
 * @returns How the peer took it.
 * @throws {Fault} `link_failed` when the link fails; what the peer said when its side did.
 */
export async function callAttempt(
  options: CallOptions,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<StartResult> {
  const call = new AttemptCall(options, signal);
  try {
    return await call.start(attempt);
  } catch (error) {
    if (!(error instanceof NoTurnError)) throw error;
    // Nothing was asked of the member yet, so nothing speaks against it.
    return {
      kind: "refused",
      reason: "queue_full",
      message:
        `Too many requests go to node "${options.nodeName}" at once: ${error.message}`,
      retryAfterMs: null,
    };
  }
}

class AttemptCall {
  readonly #options: CallOptions;
  readonly #signal: AbortSignal;
  readonly #decoder = new AnswerDecoder();
  readonly #frames: AnswerFrame[] = [];

  constructor(options: CallOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async start(attempt: Attempt): Promise<StartResult> {
    const { channel, clock, engine } = this.#options;
    const body = encodeAttempt(attempt);
    const limitMs = ACCEPTED_LIMIT_MS + body.length / BODY_BYTES_PER_MS;
    const exchange = await this.#guard(() =>
      channel.request({
        method: "POST",
        path: `/covey/1/attempts/${encodeURIComponent(engine)}`,
        headers: { "content-type": "application/json" },
        body,
        headLimitMs: limitMs,
        turnLimitMs: TURN_LIMIT_MS,
        signal: this.#signal,
      })
    );
    const leftMs = limitMs - (clock.monotonic() - exchange.sentAtMs);
    const first = await this.#guard(async () => {
      if (exchange.contentType !== ANSWER_MEDIA_TYPE) {
        exchange.cancel();
        throw new LinkError(
          "protocol",
          `The member answered with status ${exchange.status}`,
        );
      }
      // The line comes with the head; after a pause of this node it is yet to be read.
      return await this.#next(exchange, Math.max(leftMs, limitMs / 4));
    });
    switch (first.kind) {
      case "accepted": {
        this.#options.onAccepted({
          queue: first.queue,
          dispatchesSeen: first.dispatchesSeen,
          roundTripMs: clock.monotonic() - exchange.sentAtMs,
        });
        return {
          kind: "accepted",
          queue: first.queue,
          answer: () => this.#answer(exchange),
          withdraw: () => withdrawAttempt(channel, attempt.id, clock),
        };
      }
      case "refused": {
        await exchange.release();
        const { reason, message, retryAfterMs } = first;
        return { kind: "refused", reason, message, retryAfterMs };
      }
      case "fault":
        await exchange.release();
        throw faultFrom(first);
      case "alive":
      case "answer":
      case "data":
      case "end":
        exchange.cancel();
        throw this.#linkFault(new WireError("An answer began in its middle"));
      default: {
        const never: never = first;
        return never;
      }
    }
  }

  async #answer(exchange: LinkExchange): Promise<EngineAnswer> {
    const head = await this.#nextSpoken(exchange);
    if (head.kind === "fault") {
      await exchange.release();
      throw faultFrom(head);
    }
    if (head.kind !== "answer") {
      exchange.cancel();
      throw this.#linkFault(new WireError("An answer came without its head"));
    }
    return new SourcedAnswer(head, this.#body(exchange));
  }

  #body(exchange: LinkExchange): PieceSource {
    const body = {
      isOver: false,
      read: async () => {
        if (body.isOver) return undefined;
        const frame = await this.#nextSpoken(exchange);
        switch (frame.kind) {
          case "data":
            // The end mostly comes with the last bytes.
            if (this.#frames[0]?.kind === "end") end();
            return frame.bytes;
          case "end":
            end();
            return undefined;
          case "fault":
            exchange.release();
            throw faultFrom(frame);
          default:
            exchange.cancel();
            throw this.#linkFault(new WireError("A body was out of order"));
        }
      },
      // deno-lint-ignore require-await
      cancel: async () => exchange.cancel(),
    };
    const end = () => {
      body.isOver = true;
      // Not waited for: the attempt ends with the last byte, the exchange a little later.
      exchange.release();
    };
    return body;
  }

  /** The next frame that says more than that the member lives. */
  async #nextSpoken(exchange: LinkExchange): Promise<AnswerFrame> {
    for (;;) {
      const frame = await this.#guard(() =>
        this.#next(exchange, SILENCE_LIMIT_MS)
      );
      if (frame.kind !== "alive") return frame;
    }
  }

  async #next(exchange: LinkExchange, silenceMs: number): Promise<AnswerFrame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      const piece = await exchange.read(silenceMs);
      if (piece === null) {
        throw new LinkError("broken", "The answer ended without its last line");
      }
      try {
        this.#frames.push(...this.#decoder.push(piece));
      } catch (error) {
        exchange.cancel();
        throw error;
      }
    }
  }

  async #guard<Result>(act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      if (this.#signal.aborted) throw this.#signal.reason;
      if (error instanceof NoTurnError) throw error;
      throw this.#linkFault(error);
    }
  }

  #linkFault(cause: unknown): Fault {
    this.#options.onLinkFailure();
    const why = cause instanceof Error ? cause.message : String(cause);
    return new Fault(
      "link_failed",
      `The link to node "${this.#options.nodeName}" failed: ${why}`,
      { cause },
    );
  }
}

function faultFrom(frame: Extract<AnswerFrame, { kind: "fault" }>): Fault {
  return new Fault(frame.code, frame.message, {
    origin: frame.origin,
    ...(frame.retryAfterMs === null
      ? {}
      : { retryAfterMs: frame.retryAfterMs }),
  });
}
