import process from "node:process";
import type { Clock } from "@covey/core/platform";

/**
 * While this machine decodes, the share of time that copying may compute. With
 * both ends on two cores, chats at the receiver took 29 % longer by a quarter,
 * 11 % by a tenth, and less than machines vary by a fifteenth.
 */
const BUSY_SHARE = 1 / 15;
/** Between two pieces while it decodes, at least and at most, in milliseconds. */
const SHORTEST_REST_MS = 5;
const LONGEST_REST_MS = 1000;

/** What pacing needs. */
export interface PaceOptions {
  readonly clock: Clock;
  /** Whether this machine works for callers now. */
  isBusy(): boolean;
  /** Most bytes a second, or null for as many as go. */
  readonly bytesPerSecond: number | null;
  /** Processor time that this process has had, in milliseconds; its own unless said. */
  cpuMs?(): number;
}

/**
 * Holds copying back: to a rate where one is set, and to a fifteenth of the time
 * while this machine answers callers, since they come first. Its time is that of
 * the processor, which a slow machine spends more of on the same bytes; the time
 * in which a slow link is waited for is no work, and what answers take while no
 * piece is copied is not copying's.
 */
export class CopyPace {
  readonly #options: PaceOptions;
  readonly #cpuMs: () => number;
  #freeAtMs = 0;
  /** Pieces that are copied now. */
  #copying = 0;
  /** Processor time when it was looked at last, while pieces are copied. */
  #lastCpuMs = 0;
  /** Spent on pieces, and not rested for yet. */
  #spentMs = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
    this.#cpuMs = options.cpuMs ?? ownCpuMs;
  }

  /**
   * Wait until a piece may be copied.
   *
   * @param bytes How many it has.
   * @param signal Aborting it ends the wait with the signal's reason.
   * @returns Disposed of once it is copied, or given up.
   */
  async turn(bytes: number, signal: AbortSignal): Promise<Disposable> {
    const { bytesPerSecond, clock, isBusy } = this.#options;
    const nowMs = clock.monotonic();
    this.#look();
    const restMs = isBusy() ? restAfter(this.#spentMs) : 0;
    this.#spentMs = 0;
    const startMs = Math.max(nowMs, this.#freeAtMs) + restMs;
    const rateMs = bytesPerSecond === null ? 0 : bytes / bytesPerSecond * 1000;
    this.#freeAtMs = startMs + rateMs;
    if (startMs > nowMs) await clock.sleep(startMs - nowMs, signal);
    this.#look();
    this.#copying++;
    return {
      [Symbol.dispose]: () => {
        this.#look();
        this.#copying--;
      },
    };
  }

  #look(): void {
    const cpuMs = this.#cpuMs();
    if (this.#copying > 0) this.#spentMs += cpuMs - this.#lastCpuMs;
    this.#lastCpuMs = cpuMs;
  }
}

function restAfter(spentMs: number): number {
  const restMs = spentMs * (1 / BUSY_SHARE - 1);
  return Math.min(LONGEST_REST_MS, Math.max(SHORTEST_REST_MS, restMs));
}

function ownCpuMs(): number {
  const { system, user } = process.cpuUsage();
  return (system + user) / 1000;
}
