import type { PieceSource } from "../domain/mod.ts";
import type { AnswerMeter } from "./answer_meter.ts";
import type { CutEvent, EventSource } from "./cut_event.ts";

/** How a body came to its end. */
export type BodyEnd = "ended" | "failed" | "cancelled";

/** What a metered body needs. */
export interface MeteredBodyOptions {
  /** The engine's bytes. */
  readonly source: PieceSource;
  /** Aborting it ends the body with the signal's reason, also when nobody reads. */
  readonly signal: AbortSignal;
  /** Reads along. */
  readonly meter: AnswerMeter;
  /** Monotonic time. */
  nowMs(): number;
  /** The source is done, for whatever reason. Called once; after a cancel, when the source has taken it. */
  over(end: BodyEnd): void;
}

/** A piece, and the events that it completed. */
interface Piece {
  readonly bytes: Uint8Array;
  readonly events: readonly CutEvent[];
}

/** Whoever waits for the next piece. */
interface Waiting {
  give(piece: Piece): void;
  end(): void;
  fail(reason: unknown): void;
}

type State =
  | { readonly kind: "open" | "ended" }
  | { readonly kind: "failed"; readonly reason: unknown };

/** Read ahead of the consumer by this much: more than most answers have. */
const READ_AHEAD_BYTES = 4 * 1024 * 1024;

/**
 * A body on its way, read along and left as it is. Reads ahead within a bound,
 * so that an engine's slot is free when the engine is done, not when a slow
 * client has read it all. Gives its bytes, or the events that were cut out of
 * them, to one reader of either.
 */
export class MeteredBody implements PieceSource, EventSource {
  /** What read along. */
  readonly meter: AnswerMeter;
  readonly #options: MeteredBodyOptions;
  readonly #onAbort = () => this.#abort();
  /** What nobody has read yet. */
  #ahead: Piece[] = [];
  #aheadBytes = 0;
  /** Events behind the last blank line. */
  #rest: readonly CutEvent[] = [];
  #waiting: Waiting | null = null;
  #state: State = { kind: "open" };
  #isPumping = false;

  /**
   * Begin to read.
   *
   * @param options Source, signal and meter.
   */
  constructor(options: MeteredBodyOptions) {
    const { meter, signal } = options;
    this.meter = meter;
    this.#options = options;
    if (signal.aborted) {
      this.#abort();
      return;
    }
    signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#pump();
  }

  get isOver(): boolean {
    return this.#state.kind === "ended" && this.#ahead.length === 0;
  }

  read(): Promise<Uint8Array | undefined> {
    return this.#next(({ bytes }) => bytes, () => undefined);
  }

  events(): Promise<readonly CutEvent[] | undefined> {
    return this.#next(({ events }) => events, () => {
      const rest = this.#rest;
      this.#rest = [];
      return rest.length === 0 ? undefined : rest;
    });
  }

  async cancel(reason: unknown): Promise<void> {
    this.#ahead = [];
    this.#rest = [];
    if (!this.#finish({ kind: "ended" })) return;
    this.#hand()?.end();
    const { over, source } = this.#options;
    try {
      await source.cancel(reason);
    } finally {
      over("cancelled");
    }
  }

  #next<T>(of: (piece: Piece) => T, atEnd: () => T | undefined) {
    const piece = this.#ahead.shift();
    if (piece !== undefined) {
      this.#aheadBytes -= piece.bytes.length;
      if (!this.#isPumping) this.#pump();
      return Promise.resolve(of(piece));
    }
    const state = this.#state;
    if (state.kind === "failed") return Promise.reject(state.reason);
    if (state.kind === "ended") return Promise.resolve(atEnd());
    return new Promise<T | undefined>((resolve, reject) => {
      this.#waiting = {
        give: (piece) => resolve(of(piece)),
        end: () => resolve(atEnd()),
        fail: reject,
      };
    });
  }

  async #pump(): Promise<void> {
    const { meter, nowMs, over, source } = this.#options;
    this.#isPumping = true;
    try {
      while (
        this.#state.kind === "open" && this.#aheadBytes < READ_AHEAD_BYTES
      ) {
        const bytes = await source.read();
        if (this.#state.kind !== "open") return;
        if (bytes !== undefined) {
          this.#deliver({ bytes, events: meter.piece(bytes, nowMs()) });
        }
        if (bytes !== undefined && source.isOver !== true) continue;
        this.#rest = meter.end(nowMs());
        this.#finish({ kind: "ended" });
        over("ended");
        this.#hand()?.end();
      }
    } catch (reason) {
      if (!this.#fail(reason)) return;
      over("failed");
      // It may be the meter that failed, and the source go on.
      source.cancel(reason).then(undefined, ignore);
    } finally {
      this.#isPumping = false;
    }
  }

  #deliver(piece: Piece): void {
    const waiting = this.#hand();
    if (waiting !== null) {
      waiting.give(piece);
      return;
    }
    const { bytes, events } = piece;
    this.#ahead.push({
      bytes,
      events: events.map((one) => ({ bytes: one.bytes, event: null })),
    });
    this.#aheadBytes += bytes.length;
  }

  #abort(): void {
    const { over, signal, source } = this.#options;
    if (!this.#fail(signal.reason)) return;
    // What a source says to its cancel concerns nobody who has left.
    source.cancel(signal.reason).then(undefined, ignore)
      .then(() => over("cancelled"));
  }

  /** Whoever breaks off gets nothing of what was read ahead. */
  #fail(reason: unknown): boolean {
    if (!this.#finish({ kind: "failed", reason })) return false;
    this.#ahead = [];
    this.#hand()?.fail(reason);
    return true;
  }

  /** False when it was over before. */
  #finish(state: State): boolean {
    if (this.#state.kind !== "open") return false;
    this.#state = state;
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    return true;
  }

  /** Whoever waits, who then waits no longer. */
  #hand(): Waiting | null {
    const waiting = this.#waiting;
    this.#waiting = null;
    return waiting;
  }
}

function ignore(): void {}
