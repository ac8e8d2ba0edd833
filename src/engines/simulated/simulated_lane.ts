/** Speeds of a lane. */
export interface LaneSpeed {
  readonly loadMs: number;
  readonly slots: number;
  /** Time per output token of one sequence alone. */
  readonly tokenMs: number;
  /** Each further running sequence slows all by this share. */
  readonly batchSlowdown: number;
  /** Whether its owner says when it is loaded; absent for on the first demand. */
  readonly loadsWhenTold?: boolean;
}

/** One sequence: a prompt to prefill, then tokens to decode. */
export interface LaneWork {
  readonly prefillMs: number;
  readonly outputTokens: number;
  /** Scales this sequence's token times. */
  readonly factor: number;
  /** Ends the sequence as if its process had died, after so many tokens; null for never. */
  readonly dieAfterTokens: number | null;
  /** Told what happens, at the time given: when it was due, not when it was noticed. */
  readonly on: (event: LaneEvent) => void;
}

/** What happens to a sequence. */
export type LaneEvent =
  | { readonly kind: "prefilled"; readonly atMs: number }
  | { readonly kind: "token"; readonly atMs: number; readonly number: number }
  | { readonly kind: "finished"; readonly atMs: number }
  | { readonly kind: "died"; readonly atMs: number };

/** A sequence in a lane, known to it by identity. */
export interface LaneTicket {
  readonly work: LaneWork;
  readonly arrivedMs: number;
}

interface Running {
  readonly ticket: LaneTicket;
  /** When its next event is due. */
  dueMs: number;
  /** Tokens so far, or null while it prefills. */
  tokens: number | null;
}

/** Times closer than this are one: sums of fractions differ in their last digits. */
const EPSILON_MS = 1e-6;

/**
 * A llama.cpp-like device in discrete events: slots, a first-come queue before
 * them, a prefill of fixed length, then tokens whose pace depends on how many
 * sequences hold a slot when each token begins. It has no clock: its owner says
 * what time it is, and every event counts from when the one before was due, so
 * that a late owner changes no sum.
 */
export class SimulatedLane {
  readonly #speed: LaneSpeed;
  readonly #running: Running[] = [];
  readonly #waiting: LaneTicket[] = [];
  #loadedMs: number | null;

  constructor(speed: LaneSpeed) {
    this.#speed = speed;
    this.#loadedMs = speed.loadMs === 0 ? 0 : null;
  }

  /** When the load is or was over; null before the first demand. */
  get loadedMs(): number | null {
    return this.#loadedMs;
  }

  /** Whether nothing waits or runs. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#running.length === 0;
  }

  /** Since when something waits for a load nobody has begun, or null. */
  get waitsForLoadSinceMs(): number | null {
    return this.#loadedMs === null ? this.#waiting[0]?.arrivedMs ?? null : null;
  }

  /** Begin to load. */
  load(nowMs: number): void {
    this.#loadedMs ??= nowMs + this.#speed.loadMs;
  }

  /** Be cold again; nothing may wait or run. */
  unload(): void {
    if (this.isIdle) this.#loadedMs = null;
  }

  /** Sequences that wait for a slot. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Time per token with so many sequences in slots. */
  tokenMs(running: number): number {
    const { tokenMs, batchSlowdown } = this.#speed;
    return tokenMs * (1 + batchSlowdown * (Math.max(running, 1) - 1));
  }

  /**
   * Enter the queue. Call `catchUp` with the same time before and after.
   *
   * @param nowMs The time.
   */
  add(work: LaneWork, nowMs: number): LaneTicket {
    if (this.#speed.loadsWhenTold !== true) this.load(nowMs);
    const ticket = { work, arrivedMs: nowMs };
    this.#waiting.push(ticket);
    return ticket;
  }

  /** Leave, wherever it stands; a slot it held is free from `nowMs` on. */
  remove(ticket: LaneTicket, nowMs: number): void {
    const waits = this.#waiting.indexOf(ticket);
    if (waits >= 0) this.#waiting.splice(waits, 1);
    const runs = this.#running.findIndex((one) => one.ticket === ticket);
    if (runs < 0) return;
    this.#running.splice(runs, 1);
    this.#fill(nowMs);
  }

  /** When something happens next, or null when nothing will. */
  nextMs(): number | null {
    let nextMs = Infinity;
    for (const { dueMs } of this.#running) nextMs = Math.min(nextMs, dueMs);
    if (this.#canStart()) nextMs = Math.min(nextMs, this.#startMs(-Infinity));
    return nextMs === Infinity ? null : nextMs;
  }

  /** Let everything happen that is due at `nowMs`, in order. */
  catchUp(nowMs: number): void {
    for (;;) {
      const nextMs = this.nextMs();
      if (nextMs === null || nextMs > nowMs + EPSILON_MS) return;
      if (this.#canStart() && this.#startMs(-Infinity) <= nextMs) {
        this.#fill(nextMs);
        continue;
      }
      const due = this.#running.find(({ dueMs }) => dueMs === nextMs);
      if (due !== undefined) this.#step(due);
    }
  }

  /** Expected milliseconds of work left of each sequence in a slot. */
  runningMs(nowMs: number): number[] {
    const paceMs = this.tokenMs(this.#running.length);
    return this.#running.map(({ ticket, dueMs, tokens }) => {
      const { outputTokens, factor } = ticket.work;
      const after = tokens === null
        ? outputTokens
        : Math.max(outputTokens - tokens - 1, 0);
      return Math.max(dueMs - nowMs, 0) + after * paceMs * factor;
    });
  }

  /** Expected milliseconds of work of each sequence that waits, first to start first. */
  waitingMs(): number[] {
    const paceMs = this.tokenMs(this.#speed.slots);
    return this.#waiting.map(({ work }) =>
      work.prefillMs + work.outputTokens * paceMs * work.factor
    );
  }

  #canStart(): boolean {
    return this.#waiting.length > 0 && this.#loadedMs !== null &&
      this.#running.length < this.#speed.slots;
  }

  /** When the first that waits can start, in a slot that is free from `freeMs` on. */
  #startMs(freeMs: number): number {
    const arrivedMs = this.#waiting[0]?.arrivedMs ?? Infinity;
    return Math.max(arrivedMs, this.#loadedMs ?? Infinity, freeMs);
  }

  #fill(freeMs: number): void {
    while (this.#canStart()) {
      const startMs = this.#startMs(freeMs);
      const ticket = this.#waiting.shift();
      if (ticket === undefined) return;
      this.#running.push({
        ticket,
        dueMs: startMs + ticket.work.prefillMs,
        tokens: null,
      });
    }
  }

  #step(one: Running): void {
    const { work } = one.ticket;
    const atMs = one.dueMs;
    if (one.tokens === null) {
      one.tokens = 0;
      work.on({ kind: "prefilled", atMs });
    } else {
      one.tokens++;
      work.on({ kind: "token", atMs, number: one.tokens });
    }
    // The listener may have cancelled it.
    if (!this.#running.includes(one)) return;
    if (one.tokens === work.dieAfterTokens) {
      this.remove(one.ticket, atMs);
      work.on({ kind: "died", atMs });
    } else if (one.tokens >= work.outputTokens) {
      this.remove(one.ticket, atMs);
      work.on({ kind: "finished", atMs });
    } else {
      one.dueMs = atMs + this.tokenMs(this.#running.length) * work.factor;
    }
  }
}
