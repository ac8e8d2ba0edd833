import type { Clock } from "../platform/mod.ts";
import type { FreeSlotBell } from "./free_slot_bell.ts";

/** What watches over an attempt between its acceptance and its answer. */
export interface WaitWatch extends Disposable {
  /** Whether the attempt was taken back. */
  readonly isGone: boolean;
  /** The same, once a withdrawal that is under way has its result. */
  settled(): Promise<boolean>;
}

/** What a watch does and asks. */
export interface WaitWatchOptions {
  readonly clock: Clock;
  readonly bell: FreeSlotBell;
  /** Key of the engine the attempt should move to, or null to stay. */
  look(): string | null;
  /** As the engine offers it. */
  withdraw(): Promise<boolean>;
  /** The attempt was taken back for that engine, which is claimed. */
  moved(to: string): void;
  /** It could not be: it has started or ended. */
  stayed(): void;
}

/** Reports of peers come every 2 s, so that looking oftener finds little. */
const LOOK_EVERY_MS = 500;

/**
 * Looks for a better place for an attempt that waits unstarted: at once, when
 * a slot falls free, and now and then.
 */
export class QueueWatch implements WaitWatch {
  readonly #options: WaitWatchOptions;
  readonly #timer: Disposable;
  readonly #listening: Disposable;
  #withdrawal: Promise<boolean> | null = null;
  #isGone = false;
  #isOver = false;

  /** @param options What to do. */
  constructor(options: WaitWatchOptions) {
    this.#options = options;
    const { bell, clock } = options;
    this.#timer = clock.every(LOOK_EVERY_MS, () => this.#look());
    this.#listening = bell.listen(() => this.#look());
    this.#look();
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  async settled(): Promise<boolean> {
    return await (this.#withdrawal ?? this.#isGone);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer[Symbol.dispose]();
    this.#listening[Symbol.dispose]();
  }

  #look(): void {
    if (this.#isOver || this.#withdrawal !== null) return;
    const { bell, look } = this.#options;
    const target = look();
    if (target === null || !bell.claim(target)) return;
    this.#withdrawal = this.#withdraw(target);
  }

  async #withdraw(target: string): Promise<boolean> {
    const { bell, moved, stayed, withdraw } = this.#options;
    // An engine that cannot say has not given it back; its answer will tell.
    this.#isGone = await withdraw().catch(() => false);
    this[Symbol.dispose]();
    if (this.#isGone) moved(target);
    else {
      bell.release(target);
      stayed();
    }
    return this.#isGone;
  }
}
