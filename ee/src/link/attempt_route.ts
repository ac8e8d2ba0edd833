import type { ServerResponse } from "node:http";
import {
  type Attempt,
  type EngineAnswer,
  faultOf,
  type Log,
  type Router,
  sourceOf,
} from "@covey/core/domain";
import { type Clock, orAborted } from "@covey/core/platform";
import { ANSWER_MEDIA_TYPE, encodeFrame } from "./answer_encoder.ts";
import type { AnswerFrame } from "./answer_frame.ts";
import type { Withdrawable } from "./withdraw_call.ts";

/** How often a silent engine's member says that it lives. */
const ALIVE_EVERY_MS = 1000;
/** How long the entry may leave what was sent unread before the engine is stopped. */
const DRAIN_LIMIT_MS = 300_000;

/** What serving an attempt needs. */
export interface AttemptRoute {
  readonly serve: Router["serve"];
  /** Keeps attempts that their entry may take back. */
  readonly withdrawable: Withdrawable;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Run an attempt that a peer sent and write its answer as it comes. The engine
 * stops as soon as the peer closes the connection.
 *
 * @param route What it needs.
 * @param engine Id of the engine the peer chose.
 * @param attempt The attempt, parsed.
 * @param response Where the answer goes; it is ended here.
 */
export async function answerAttempt(
  route: AttemptRoute,
  engine: string,
  attempt: Attempt,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  const onClose = () =>
    gone.abort(new DOMException("The entry node left", "AbortError"));
  response.once("close", onClose);
  // After a pause of the network its last bytes come together with its end.
  if (response.destroyed) onClose();
  const writer = new FrameWriter(response, route.clock, gone.signal);
  try {
    await run(route, engine, attempt, writer, gone.signal);
  } catch (thrown) {
    if (gone.signal.aborted) return;
    const fault = faultOf(thrown);
    if (fault.code === "internal") {
      route.log.error("Failed to serve an attempt of a peer", {
        attempt: attempt.id,
        error: String(fault.cause),
      });
    }
    writer.end({
      kind: "fault",
      code: fault.code,
      message: fault.message,
      origin: fault.origin,
      retryAfterMs: fault.retryAfterMs,
    });
  } finally {
    response.off("close", onClose);
    writer[Symbol.dispose]();
    response.end();
    // However it ended, what the attempt still holds is given back.
    onClose();
  }
}

async function run(
  { serve, withdrawable }: AttemptRoute,
  engine: string,
  attempt: Attempt,
  writer: FrameWriter,
  signal: AbortSignal,
): Promise<void> {
  const started = await orAborted(serve(engine, attempt, signal), signal);
  if (started.kind === "refused") {
    return writer.end({
      kind: "refused",
      reason: started.reason,
      message: started.message,
      retryAfterMs: started.retryAfterMs,
    });
  }
  const { id, entry } = attempt;
  // Known before the entry hears of it: its withdrawal may come at once.
  using _held = started.withdraw === undefined
    ? undefined
    : withdrawable.hold(id, entry, started.withdraw);
  await writer.write({
    kind: "accepted",
    queue: started.queue,
    dispatchesSeen: attempt.dispatch,
  });
  const answer = await orAborted(started.answer(), signal);
  await writer.write({
    kind: "answer",
    status: answer.status,
    contentType: answer.contentType,
    retryAfter: answer.retryAfter,
  });
  await pump(answer, writer, signal);
  writer.end({ kind: "end" });
}

async function pump(
  answer: EngineAnswer,
  writer: FrameWriter,
  signal: AbortSignal,
): Promise<void> {
  const source = answer.source ?? sourceOf(answer.body);
  const onGone = () => {
    // The engine hears of it through the signal as well; here nobody listens.
    source.cancel(signal.reason).catch(() => {});
  };
  signal.addEventListener("abort", onGone, { once: true });
  try {
    for (;;) {
      const piece = await source.read();
      signal.throwIfAborted();
      if (piece === undefined) return;
      if (piece.length > 0) await writer.write({ kind: "data", bytes: piece });
      if (source.isOver === true) return;
    }
  } catch (error) {
    onGone();
    throw error;
  } finally {
    signal.removeEventListener("abort", onGone);
  }
}

/** Writes frames, and `alive` ones whenever a second passes without any. */
class FrameWriter implements Disposable {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #timer: Disposable | undefined;
  /** Whether nothing was written since the last beat. */
  #quiet = false;

  constructor(response: ServerResponse, clock: Clock, signal: AbortSignal) {
    this.#response = response;
    this.#clock = clock;
    this.#signal = signal;
  }

  async write(frame: AnswerFrame): Promise<void> {
    this.#begin(frame);
    if (!this.#response.write(encodeFrame(frame))) await this.#drained();
  }

  /** Write the last frame, in one packet with the end of the response: the connection is free with it. */
  end(frame: AnswerFrame): void {
    this.#begin(frame);
    this.#response.end(encodeFrame(frame));
  }

  #begin(frame: AnswerFrame): void {
    this.#signal.throwIfAborted();
    if (!this.#response.headersSent) {
      this.#response.writeHead(
        frame.kind === "refused" && frame.reason === "duplicate_attempt"
          ? 409
          : 200,
        { "content-type": ANSWER_MEDIA_TYPE, "cache-control": "no-store" },
      );
      this.#timer = this.#clock.every(ALIVE_EVERY_MS, () => this.#beat());
    }
    this.#quiet = false;
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  #beat(): void {
    const { destroyed, writableNeedDrain } = this.#response;
    if (this.#quiet && !destroyed && !writableNeedDrain) {
      this.#response.write(encodeFrame({ kind: "alive" }));
    }
    this.#quiet = true;
  }

  async #drained(): Promise<void> {
    using deadline = this.#clock.deadline(DRAIN_LIMIT_MS, this.#signal);
    const { signal } = deadline;
    await new Promise<void>((resolve, reject) => {
      const onDrain = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#response.off("drain", onDrain);
        this.#response.destroy();
        reject(signal.reason);
      };
      this.#response.once("drain", onDrain);
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
  }
}
