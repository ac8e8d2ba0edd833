import type { VirtualClock } from "./virtual_clock.ts";

const SMOOTHING = 0.3;
const COUNT_EVERY_MS = 1_000;
const KEPT_TIMES = 100;

/** How loaded a node is, as rules that count and do not predict see it. */
export class LoadFigures {
  readonly #clock: VirtualClock;
  readonly #timesMs: number[] = [];
  /** Of these times, or null when out of date. */
  #p75Ms: number | null = null;
  #busy = 0;
  #workedMs = 0;
  #countedAtMs = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Time passed in which something ran, in milliseconds. */
  worked(passedMs: number): void {
    this.#workedMs += passedMs;
  }

  /** An answer is over. */
  answered(tookMs: number): void {
    this.#p75Ms = null;
    this.#timesMs.push(tookMs);
    if (this.#timesMs.length > KEPT_TIMES) this.#timesMs.shift();
  }

  /** Share of the last seconds with work, smoothed. */
  busyShare(): number {
    const nowMs = this.#clock.monotonic();
    const passedMs = nowMs - this.#countedAtMs;
    if (passedMs >= COUNT_EVERY_MS) {
      this.#busy += SMOOTHING * (this.#workedMs / passedMs - this.#busy);
      this.#countedAtMs = nowMs;
      this.#workedMs = 0;
    }
    return this.#busy;
  }

  /** 75th percentile of what the last answers took, in milliseconds. */
  p75Ms(): number {
    this.#p75Ms ??= this.#timesMs.toSorted((a, b) => a - b)[
      Math.floor(this.#timesMs.length * 0.75)
    ] ?? 0;
    return this.#p75Ms;
  }
}
