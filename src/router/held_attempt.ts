import type { NodeId } from "../domain/mod.ts";
import type { DeviceQueue, QueueEntry, QueuePlace } from "./device_queue.ts";

/**
 * One attempt from its place in the queue to the end of its answer. A slot that
 * its engine is at work in is given back only when the engine has let go.
 */
export class HeldAttempt {
  readonly entry: NodeId;
  /** Resolves when it has its slot, or will never have one. */
  readonly slot: Promise<void>;
  /** Whether the engine was asked and has not let go. */
  engaged = false;
  readonly #asked: AbortSignal;
  readonly #control = new AbortController();
  readonly #onAbort = () => this.end(this.#asked.reason);
  readonly #forget: (held: HeldAttempt) => void;
  #place: QueuePlace | null = null;
  #resolveSlot: () => void = () => {};
  /**
   * Private, since V8 keeps a function that is assigned to a property anybody
   * sees, with all that it sees itself, until it collects all garbage: here
   * 5 KB of every request.
   */
  #progress: () => number | null = () => null;

  /**
   * @param entry The node the client called.
   * @param asked Aborted when the attempt is withdrawn.
   * @param forget Called when it is over.
   */
  constructor(
    entry: NodeId,
    asked: AbortSignal,
    forget: (held: HeldAttempt) => void,
  ) {
    this.entry = entry;
    this.#asked = asked;
    this.#forget = forget;
    this.slot = new Promise((resolve) => this.#resolveSlot = resolve);
  }

  /** For the engine: aborted when the attempt is withdrawn or the node shuts down. */
  get signal(): AbortSignal {
    return this.#control.signal;
  }

  /** Sequences that ran side by side while it did, on average. */
  get meanConcurrency(): number {
    return this.#place?.meanConcurrency ?? 1;
  }

  /** Sequences of its own that it has slots for. */
  get lanes(): number {
    return this.#place?.lanes ?? 1;
  }

  /** Integral of the sequences that run on its device over time. */
  get concurrencyMs(): number {
    return this.#place?.concurrencyMs ?? 0;
  }

  /** Take a place in a queue. */
  enter(
    queue: DeviceQueue,
    entry: Omit<QueueEntry, "onSlot" | "leftMs">,
  ): void {
    this.#place = queue.enter({
      ...entry,
      onSlot: () => this.#resolveSlot(),
      leftMs: () => this.leftMs(),
    });
    if (this.#asked.aborted) this.#onAbort();
    else this.#asked.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** What is left of it, where its progress shows that; else null. */
  leftMs(): number | null {
    return this.#progress();
  }

  /** Let its progress show what is left of it. */
  showBy(progress: () => number | null): void {
    this.#progress = progress;
  }

  /** Replace its expected work, counted from now. */
  expect(ms: number): void {
    this.#place?.expect(ms);
  }

  /**
   * Take it out of the queue if it has not started.
   *
   * @param reason What whoever waits for its slot is told.
   * @returns Whether it left unstarted.
   */
  withdraw(reason: unknown): boolean {
    if (this.engaged || this.#place?.state !== "waiting") return false;
    this.end(reason);
    return true;
  }

  /** End it, waiting or running. */
  end(reason: unknown): void {
    this.#control.abort(reason);
    if (!this.engaged) this.release(null);
  }

  /**
   * Give place or slot back: the engine has let go, or was never asked.
   *
   * @param reason What the engine failed with, or null.
   */
  release(reason: unknown): void {
    this.#asked.removeEventListener("abort", this.#onAbort);
    if (reason !== null) this.#control.abort(reason);
    this.#forget(this);
    this.#resolveSlot();
    this.#place?.leave();
  }
}
