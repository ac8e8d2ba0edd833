import { RequestError } from "./request_error.ts";

/** One sequence of the context, held by at most one request. */
export interface Slot<Sequence> {
  readonly id: number;
  readonly sequence: Sequence;
}

/** A slot in use; disposing it gives the slot back. */
export interface SlotLease<Sequence> extends Disposable {
  readonly slot: Slot<Sequence>;
}

/** What the choice of a slot rests on. */
export interface SlotFact {
  readonly id: number;
  /** Tokens at the head of the prompt that the slot has evaluated already. */
  readonly sharedPrefix: number;
  /** Number of the lease that used it last; 0 for never. */
  readonly lastLease: number;
}

/**
 * Choose among free slots: the longest shared prefix, then the one unused for longest.
 *
 * @param free The free slots.
 * @returns Id of the chosen one, or undefined when none is free.
 */
export function chooseSlot(free: readonly SlotFact[]): number | undefined {
  let best: SlotFact | undefined;
  for (const fact of free) {
    const better = best === undefined ||
      fact.sharedPrefix > best.sharedPrefix ||
      (fact.sharedPrefix === best.sharedPrefix &&
        fact.lastLease < best.lastLease);
    if (better) best = fact;
  }
  return best?.id;
}

interface Waiter<Sequence> {
  readonly shared: (sequence: Sequence) => number;
  readonly start: (lease: SlotLease<Sequence>) => void;
}

/** The slots and the bounded queue in front of them, first come, first served. */
export class SlotPool<Sequence> {
  readonly #slots: readonly Slot<Sequence>[];
  readonly #lastLease: number[];
  readonly #busy = new Set<number>();
  readonly #waiting: Waiter<Sequence>[] = [];
  readonly #maxWaiting: number;
  #leases = 0;

  /**
   * @param sequences One for each slot.
   * @param maxWaiting Requests that may wait; more are refused.
   */
  constructor(sequences: readonly Sequence[], maxWaiting: number) {
    this.#slots = sequences.map((sequence, id) => ({ id, sequence }));
    this.#lastLease = sequences.map(() => 0);
    this.#maxWaiting = maxWaiting;
  }

  /** Number of requests that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Ids of the slots in use. */
  get busy(): ReadonlySet<number> {
    return this.#busy;
  }

  /** All slots. */
  get slots(): readonly Slot<Sequence>[] {
    return this.#slots;
  }

  /**
   * Wait for a slot.
   *
   * @param shared Tells how much of the prompt a slot has evaluated already.
   * @param signal Aborting it gives the place in the queue up.
   * @returns The lease; dispose it when done.
   * @throws {RequestError} When the queue is full.
   */
  acquire(
    shared: (sequence: Sequence) => number,
    signal: AbortSignal,
  ): Promise<SlotLease<Sequence>> {
    signal.throwIfAborted();
    if (this.#busy.size < this.#slots.length) {
      return Promise.resolve(this.#take(shared));
    }
    if (this.#waiting.length >= this.#maxWaiting) {
      throw new RequestError(
        503,
        `All ${this.#slots.length} slots are busy and ${this.#maxWaiting} requests wait; ask again later`,
        { code: "queue_full" },
      );
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter<Sequence> = {
        shared,
        start: (lease) => {
          signal.removeEventListener("abort", onAbort);
          resolve(lease);
        },
      };
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(signal.reason);
      };
      this.#waiting.push(waiter);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /**
   * Take a slot that nobody uses or waits for.
   *
   * @param shared Tells how much of the prompt a slot has evaluated already.
   * @returns The lease, or null when all are busy.
   */
  takeFree(
    shared: (sequence: Sequence) => number,
  ): SlotLease<Sequence> | null {
    return this.#busy.size < this.#slots.length ? this.#take(shared) : null;
  }

  #take(shared: (sequence: Sequence) => number): SlotLease<Sequence> {
    const facts = this.#slots
      .filter((slot) => !this.#busy.has(slot.id))
      .map((slot) => ({
        id: slot.id,
        sharedPrefix: shared(slot.sequence),
        lastLease: this.#lastLease[slot.id] ?? 0,
      }));
    const id = chooseSlot(facts);
    const slot = this.#slots.find((one) => one.id === id);
    if (slot === undefined) throw new RangeError("No slot is free");
    this.#busy.add(slot.id);
    this.#lastLease[slot.id] = ++this.#leases;
    let held = true;
    return {
      slot,
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        this.#busy.delete(slot.id);
        const next = this.#waiting.shift();
        next?.start(this.#take(next.shared));
      },
    };
  }
}
