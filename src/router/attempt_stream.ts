import { Fault } from "../domain/mod.ts";
import type { AttemptGuard } from "./attempt_guard.ts";
import type { CutEvent, EventSource } from "./cut_event.ts";
import type { StreamRelay } from "./stream_relay.ts";

/** For the end of the body after the terminator. */
const DRAIN_MS = 1000;

/** How long the engine may be silent, and whom to tell that it is not. */
export interface StreamPatience {
  /** Silence allowed once content has come, in milliseconds. */
  readonly idleMs: number;
  /** Called with each piece that comes. */
  alive(): void;
}

/**
 * One attempt's stream, from the engine's events to those for the client.
 * Reads only when asked, so that a slow client slows the engine down.
 */
export class AttemptStream {
  readonly #source: EventSource;
  readonly #relay: StreamRelay;
  readonly #guard: AttemptGuard;
  readonly #patience: StreamPatience;
  #ready: Uint8Array[] = [];
  #complete = false;
  #failure: Fault | null = null;

  /**
   * @param source The engine's events.
   * @param relay Decides what the client sees.
   * @param guard Ends the attempt; its end cancels the source.
   * @param patience Time-outs.
   */
  constructor(
    source: EventSource,
    relay: StreamRelay,
    guard: AttemptGuard,
    patience: StreamPatience,
  ) {
    this.#source = source;
    this.#relay = relay;
    this.#guard = guard;
    this.#patience = patience;
    guard.signal.addEventListener("abort", () => this.#stop(), { once: true });
    if (guard.signal.aborted) this.#stop();
  }

  /** What the answer brought so far. */
  get tally(): StreamRelay["tally"] {
    return this.#relay.tally;
  }

  /** Whether the dialect's terminator came. */
  get complete(): boolean {
    return this.#complete;
  }

  /**
   * Read until there is something for the client: the first content, or the
   * end of an answer without any. The allowance of the guard is the caller's.
   *
   * @throws {Fault} When the engine fails before that.
   */
  async untilContent(): Promise<void> {
    while (this.#ready.length === 0 && !this.#complete) {
      await this.#read();
      // Nobody has seen anything yet: what came before a failure is dropped.
      if (this.#failure !== null) throw this.#failure;
    }
  }

  /**
   * The next events for the client.
   *
   * @returns At least one event, or null at the end of a complete answer.
   * @throws {Fault} When the engine broke off.
   */
  async next(): Promise<readonly Uint8Array[] | null> {
    while (this.#ready.length === 0) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#complete) {
        await this.#drain();
        return null;
      }
      this.#guard.allow(
        this.#patience.idleMs,
        "The engine stopped sending in the middle of its answer",
      );
      await this.#read();
      this.#guard.relax();
    }
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  async #read(): Promise<void> {
    const { signal } = this.#guard;
    let events: readonly CutEvent[] | undefined;
    try {
      events = await this.#source.events();
    } catch (thrown) {
      if (signal.aborted) throw signal.reason;
      if (thrown instanceof Fault) throw thrown;
      throw brokenOff(thrown);
    }
    if (signal.aborted) throw signal.reason;
    if (events !== undefined) {
      this.#patience.alive();
      this.#takeAll(events);
    } else if (!this.#complete) {
      this.#failure ??= new Fault(
        "engine_failed",
        "The engine ended its answer before it was complete",
        { origin: "engine" },
      );
    }
  }

  #takeAll(events: readonly CutEvent[]): void {
    for (const event of events) {
      if (this.#complete || this.#failure !== null) return;
      const step = this.#relay.take(event);
      switch (step.kind) {
        case "held":
          break;
        case "send":
          this.#ready.push(...step.events);
          break;
        case "complete":
          this.#ready.push(...step.events);
          this.#complete = true;
          break;
        case "broken":
          this.#failure = step.fault;
          break;
        default: {
          const never: never = step;
          return never;
        }
      }
    }
  }

  /**
   * Let the engine end in its own time, so that its connection can be used
   * again. The answer is complete: whatever goes wrong now is nobody's loss.
   */
  async #drain(): Promise<void> {
    this.#guard.allow(DRAIN_MS, "The engine did not end after its last event");
    let ended = false;
    while (!ended) {
      ended = await this.#source.events()
        .then((events) => events === undefined, () => true);
    }
    this.#guard.relax();
  }

  /** The engine is told by the cancel; that it may fail to hear changes nothing here. */
  #stop(): void {
    this.#source.cancel(this.#guard.signal.reason).then(undefined, ignore);
  }
}

function brokenOff(cause: unknown): Fault {
  return new Fault("engine_failed", "The engine broke its answer off", {
    origin: "engine",
    cause,
  });
}

function ignore(): void {}
