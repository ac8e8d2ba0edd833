import type { Slot, SlotLease, SlotPool } from "./slot_pool.ts";

/** A step of one of a request's answers. */
export interface ChoiceStep<Step> {
  /** Which answer, from 0. */
  readonly choice: number;
  readonly step: Step;
}

/** Answers under way. */
export interface RunningChoices<Step> {
  readonly first: ChoiceStep<Step>;
  /** What follows as it comes, each answer's steps in order; returning it frees the slots. */
  readonly rest: AsyncGenerator<ChoiceStep<Step>, void, void>;
}

/** What answers are written with. */
export interface ChoiceWork<Sequence, Step> {
  readonly pool: SlotPool<Sequence>;
  /** How many answers. */
  readonly count: number;
  /** Tells how much of the prompt a slot has evaluated already. */
  readonly shared: (sequence: Sequence) => number;
  /**
   * Write one answer on a slot, which is its own meanwhile.
   *
   * @param signal Aborting it makes the generator throw.
   */
  readonly write: (
    choice: number,
    slot: Slot<Sequence>,
    signal: AbortSignal,
  ) => AsyncGenerator<Step, void, void>;
}

/**
 * Write one answer or several to a request: side by side on what slots are free
 * when it gets its own, else one after the other. The request waits for one
 * slot as any other does and keeps it until its last answer has begun; a further
 * slot goes back after each answer if somebody waits for it. What falls free
 * later is not taken: whoever hands out slots counts with it for others.
 *
 * @param work What to write.
 * @param signal Aborting it ends all answers.
 * @returns The answers, of which the first step is there.
 * @throws {RequestError} When the queue for slots is full.
 */
export async function startChoices<Sequence, Step>(
  work: ChoiceWork<Sequence, Step>,
  signal: AbortSignal,
): Promise<RunningChoices<Step>> {
  const own = await work.pool.acquire(work.shared, signal);
  const rest = new ChoiceLanes(work, signal).run(own);
  const first = await rest.next();
  if (first.done) throw new Error("The answer ended before it began");
  return { first: first.value, rest };
}

/** All steps, the first one included. */
export async function* stepsOf<Step>(
  { first, rest }: RunningChoices<Step>,
): AsyncGenerator<ChoiceStep<Step>, void, void> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return();
  }
}

/** A step on its way to the reader; the lane goes on when it is taken. */
interface Handed<Step> {
  readonly item: ChoiceStep<Step>;
  readonly taken: () => void;
}

class ChoiceLanes<Sequence, Step> {
  readonly #work: ChoiceWork<Sequence, Step>;
  readonly #asked: AbortSignal;
  readonly #stop = new AbortController();
  readonly #lanes = new Set<Promise<void>>();
  readonly #handed: Handed<Step>[] = [];
  #begun = 0;
  #failure: { readonly reason: unknown } | null = null;
  #wake: () => void = () => {};

  constructor(work: ChoiceWork<Sequence, Step>, asked: AbortSignal) {
    this.#work = work;
    this.#asked = asked;
  }

  async *run(
    own: SlotLease<Sequence>,
  ): AsyncGenerator<ChoiceStep<Step>, void, void> {
    const onAbort = () => this.#end(this.#asked.reason);
    this.#asked.addEventListener("abort", onAbort, { once: true });
    try {
      this.#open(own, true);
      this.#spread();
      if (this.#asked.aborted) onAbort();
      for (;;) {
        if (this.#failure !== null) throw this.#failure.reason;
        const next = this.#handed.shift();
        if (next !== undefined) {
          // Before the reader has it: one who never comes back must hold no lane.
          next.taken();
          yield next.item;
        } else if (this.#lanes.size === 0) {
          return;
        } else {
          await new Promise<void>((resolve) => this.#wake = resolve);
        }
      }
    } finally {
      this.#asked.removeEventListener("abort", onAbort);
      this.#end(new Error("Nobody reads the answers"));
      await Promise.all(this.#lanes);
    }
  }

  /** Take what slots are free for answers that have not begun. */
  #spread(): void {
    const { pool, count, shared } = this.#work;
    while (this.#begun < count && !this.#stop.signal.aborted) {
      const lease = pool.takeFree(shared);
      if (lease === null) return;
      this.#open(lease, false);
    }
  }

  #open(lease: SlotLease<Sequence>, keeps: boolean): void {
    // The choice is taken here, so that a slot is never taken for none.
    const lane: Promise<void> = this.#follow(lease, keeps, this.#begun++)
      .catch((reason) => this.#end(reason))
      .finally(() => {
        this.#lanes.delete(lane);
        this.#wake();
      });
    this.#lanes.add(lane);
  }

  async #follow(
    lease: SlotLease<Sequence>,
    keeps: boolean,
    first: number,
  ): Promise<void> {
    using held = lease;
    const { pool, count, write } = this.#work;
    let choice = first;
    for (;;) {
      for await (const step of write(choice, held.slot, this.#stop.signal)) {
        await this.#hand({ choice, step });
      }
      if (this.#begun >= count || (!keeps && pool.waiting > 0)) return;
      choice = this.#begun++;
    }
  }

  #hand(item: ChoiceStep<Step>): Promise<void> {
    if (this.#failure !== null) throw this.#failure.reason;
    return new Promise((resolve) => {
      this.#handed.push({ item, taken: resolve });
      this.#wake();
    });
  }

  /** Let every lane end; the first reason is the one that is told. */
  #end(reason: unknown): void {
    this.#failure ??= { reason };
    this.#stop.abort(reason);
    for (const { taken } of this.#handed.splice(0)) taken();
    this.#wake();
  }
}
