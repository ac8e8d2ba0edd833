import { Fault, faultOf } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import type { AnswerTally } from "./answer_tally.ts";
import type { BegunAttempt, LoopEffects, Opened } from "./attempt_loop.ts";
import { tryCandidates } from "./attempt_loop.ts";
import type { Continuation } from "./continuation.ts";
import { errorEvent } from "./error_event.ts";
import { joinEvents } from "./join_events.ts";
import {
  type SessionAnswer,
  StreamedSessionAnswer,
  WholeSessionAnswer,
} from "./session_answer.ts";
import { waitingComment } from "./waiting_comment.ts";

/** How a request ended, for counting. */
export type RequestOutcome =
  | "answered"
  /** The engine's own 4xx. */
  | "rejected"
  /** Nobody could serve it. */
  | "failed"
  | "broken_off"
  | "cancelled";

/** What a session tells its owner. */
export interface SessionEvents {
  /** The first content of a stream is there. */
  content(): void;
  /** Nothing more will come. Called once. */
  ended(outcome: RequestOutcome, tally: AnswerTally | null): void;
}

/** When a stream's head goes out although there is no content yet. */
const HEAD_AFTER_MS = 10_000;
const COMMENT_EVERY_MS = 1000;

type Streaming = Extract<Opened, { readonly kind: "streaming" }>;
type StreamEnd =
  | { readonly kind: "answered" }
  | { readonly kind: "cancelled" }
  | { readonly kind: "broken_off"; readonly fault: Fault };

/**
 * One client's request from its placement to the last byte: runs the attempt
 * loop, and hands the client a body that it reads at its own pace.
 */
export class AnswerSession {
  readonly #clock: Clock;
  readonly #client: AbortSignal;
  readonly #events: SessionEvents;
  readonly #control = new AbortController();
  readonly #onClient = () => this.abort(this.#client.reason);
  readonly #current: () => BegunAttempt | null;
  readonly #opening: Promise<Opened>;
  /** Resolves when nothing more will come. */
  readonly over: Promise<void>;
  #resolveOver: () => void = () => {};
  readonly #effects: LoopEffects;
  readonly #continuation: Continuation | null;
  /** Attempts so far. */
  #begun = 0;
  /** The stream that the client reads. */
  #live: Streaming | null = null;
  readonly #settled = new WeakSet<BegunAttempt>();
  #ended = false;

  /**
   * Begin at once.
   *
   * @param effects How attempts begin and end.
   * @param client Aborted when the client leaves.
   * @param events Whom to tell.
   * @param continuation Lets another engine go on where a stream breaks off; null for never.
   */
  constructor(
    effects: LoopEffects,
    client: AbortSignal,
    events: SessionEvents,
    continuation: Continuation | null = null,
  ) {
    this.#effects = effects;
    this.#continuation = continuation;
    this.#clock = effects.clock;
    this.#client = client;
    this.#events = events;
    this.over = new Promise((resolve) => this.#resolveOver = resolve);
    if (client.aborted) this.#control.abort(client.reason);
    else client.addEventListener("abort", this.#onClient, { once: true });
    let current: BegunAttempt | null = null;
    this.#current = () => current;
    this.#opening = tryCandidates({
      clock: effects.clock,
      begin: (n) => {
        const begun = effects.begin(n);
        this.#begun = n;
        if (!(begun instanceof Fault)) current = begun;
        return begun;
      },
    }, this.#control.signal).catch((thrown) => ({
      kind: "nothing",
      fault: faultOf(thrown),
    }));
  }

  /**
   * End it before its time.
   *
   * @param reason A fault is told to the client; anything else means that it left.
   */
  abort(reason: unknown): void {
    if (this.#ended) return;
    this.#control.abort(reason);
    // The client may never read again, so its body cannot be waited for.
    this.#opening.then((opened) => {
      const end = endOf(reason);
      const first = opened.kind === "streaming" ? opened : null;
      const live = this.#live ?? first;
      if (live !== null) this.#settle(live, end);
      this.#end(end.kind === "cancelled" ? "cancelled" : "failed", null);
    });
  }

  /**
   * Wait for what the client is to get.
   *
   * @param stream Whether the client asked for a stream, which may open empty after 10 s.
   * @returns The answer.
   * @throws {Fault} When nobody could serve it; the client's own reason when it left.
   */
  async answer(stream: boolean): Promise<SessionAnswer> {
    try {
      const opened = stream
        ? await this.#openedWithin(HEAD_AFTER_MS)
        : await this.#opening;
      const waitedFor = this.#current();
      if (opened === null && waitedFor !== null) {
        return this.#streaming(waitedFor, null);
      }
      return this.#answerOf(opened ?? await this.#opening);
    } catch (thrown) {
      this.#end(thrown instanceof Fault ? "failed" : "cancelled", null);
      throw thrown;
    }
  }

  #answerOf(opened: Opened): SessionAnswer {
    switch (opened.kind) {
      case "streaming":
        return this.#streaming(opened.begun, opened);
      case "whole": {
        const { tally, pieces, ...head } = opened.answer;
        const good = head.status < 400;
        this.#end(good ? "answered" : "rejected", tally);
        return new WholeSessionAnswer(opened.begun, head, pieces);
      }
      case "nothing":
        throw opened.fault;
      case "cancelled":
        throw this.#control.signal.reason;
      default: {
        const never: never = opened;
        return never;
      }
    }
  }

  /** A body that sends comments until there is content, if there is none yet. */
  #streaming(begun: BegunAttempt, opened: Streaming | null): SessionAnswer {
    let live = opened;
    let commented = false;
    let isOver = false;
    if (live !== null) this.#events.content();
    const read = async (): Promise<Uint8Array | undefined> => {
      if (isOver) return undefined;
      try {
        if (live === null) {
          const now = commented
            ? await this.#openedWithin(COMMENT_EVERY_MS)
            : null;
          commented = true;
          if (isOver) return undefined;
          if (now === null) return this.#comment();
          live = this.#lateStream(now);
          this.#events.content();
        }
        for (;;) {
          this.#live = live;
          const events = await this.#nextOf(live);
          if (isOver) return undefined;
          if (events.kind === "resumed") {
            live = events.live;
            continue;
          }
          if (events.isLast) {
            isOver = true;
            this.#settle(live, { kind: "answered" });
          }
          // What is held back is no answer to the reader.
          if (events.ready.length > 0) return joinEvents(events.ready);
          if (events.isLast) return undefined;
        }
      } catch (thrown) {
        const end = endOf(thrown);
        if (live !== null) this.#settle(live, end);
        this.#end(end.kind === "cancelled" ? "cancelled" : "failed", null);
        if (isOver) return undefined;
        isOver = true;
        if (end.kind !== "broken_off") throw thrown;
        return errorEvent(end.fault);
      }
    };
    return new StreamedSessionAnswer(begun, {
      read,
      cancel: (reason) => {
        isOver = true;
        // Clients leave at the terminator without waiting for the end.
        if (live?.stream.complete) this.#settle(live, { kind: "answered" });
        this.abort(reason instanceof Fault ? reason.message : reason);
        return Promise.resolve();
      },
    });
  }

  #comment(): Uint8Array {
    const waiting = this.#current();
    return waitingComment(
      waiting?.engine ?? null,
      waiting?.candidate.offer.model ?? "",
    );
  }

  /** The head is out: anything but a stream can only become an error event. */
  #lateStream(opened: Opened): Streaming {
    if (opened.kind === "streaming") return opened;
    if (opened.kind === "nothing") throw opened.fault;
    if (opened.kind === "cancelled") throw this.#control.signal.reason;
    throw new Fault(
      "engine_failed",
      `The engine answered with status ${opened.answer.status}`,
      { origin: "engine" },
    );
  }

  async #nextOf(live: Streaming): Promise<
    | {
      readonly kind: "events";
      readonly ready: readonly Uint8Array[];
      readonly isLast: boolean;
    }
    | { readonly kind: "resumed"; readonly live: Streaming }
  > {
    let events: readonly Uint8Array[] | null;
    try {
      events = await live.stream.next();
    } catch (thrown) {
      return { kind: "resumed", live: await this.#resumed(live, thrown) };
    }
    const ready = events ?? [];
    return {
      kind: "events",
      ready: this.#continuation?.pass(ready) ?? ready,
      isLast: events === null,
    };
  }

  /** Let another engine go on, or throw what broke the stream off. */
  async #resumed(live: Streaming, thrown: unknown): Promise<Streaming> {
    const end = endOf(thrown);
    const resume = this.#continuation?.point() ?? null;
    const { signal } = this.#control;
    if (resume === null || end.kind !== "broken_off" || signal.aborted) {
      throw thrown;
    }
    this.#close(live, end);
    const before = this.#begun;
    const opened = await tryCandidates({
      clock: this.#clock,
      begin: (n) => {
        this.#begun = before + n;
        return this.#effects.begin(this.#begun, resume);
      },
    }, signal);
    if (opened.kind !== "streaming") {
      if (opened.kind === "cancelled") throw signal.reason;
      this.#end("broken_off", live.stream.tally);
      throw thrown;
    }
    if (this.#ended) {
      this.#close(opened, { kind: "cancelled" });
      throw thrown;
    }
    this.#continuation?.resume();
    return opened;
  }

  #settle(live: Streaming, end: StreamEnd): void {
    if (this.#close(live, end)) this.#end(end.kind, live.stream.tally);
  }

  /** End an attempt. False when it had ended before. */
  #close(live: Streaming, end: StreamEnd): boolean {
    if (this.#settled.has(live.begun)) return false;
    this.#settled.add(live.begun);
    live.begun.settle({ ...end, tally: live.stream.tally });
    live.guard.cancel();
    live.guard[Symbol.dispose]();
    return true;
  }

  #end(outcome: RequestOutcome, tally: AnswerTally | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#client.removeEventListener("abort", this.#onClient);
    this.#events.ended(outcome, tally);
    this.#resolveOver();
  }

  /** What was opened, or null if nothing was within the time. */
  #openedWithin(ms: number): Promise<Opened | null> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(ms, () => resolve(null));
      this.#opening.then((opened) => {
        timer[Symbol.dispose]();
        resolve(opened);
      });
    });
  }
}

/** Only faults are told; whatever else ends a stream is its client's doing. */
function endOf(reason: unknown): StreamEnd {
  return reason instanceof Fault
    ? { kind: "broken_off", fault: reason }
    : { kind: "cancelled" };
}
