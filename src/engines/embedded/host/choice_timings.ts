import type { Clock } from "../../../platform/mod.ts";
import { measureTimings, type Timings } from "./timings.ts";

/**
 * Adds up what several answers to one request took: the prompt as the first
 * answer had it, the tokens of all, and the time from the first token of any to
 * the end of the last.
 */
export class ChoiceTimings {
  readonly #count: number;
  readonly #clock: Clock;
  readonly #ended = new Map<number, Timings>();
  #firstAt: number | undefined;

  /**
   * @param count How many answers there will be.
   * @param clock Measures the time from the first token on.
   */
  constructor(count: number, clock: Clock) {
    this.#count = count;
    this.#clock = clock;
  }

  /** Take note that one of the answers has a step. */
  began(): void {
    this.#firstAt ??= this.#clock.monotonic();
  }

  /**
   * Take an answer's end in.
   *
   * @param choice Which answer.
   * @param timings Its own.
   * @returns Those of all, or null while others are under way.
   */
  ended(choice: number, timings: Timings): Timings | null {
    this.#ended.set(choice, timings);
    if (this.#ended.size < this.#count) return null;
    if (this.#count === 1) return timings;
    const endedAt = this.#clock.monotonic();
    const firstAt = this.#firstAt ?? endedAt;
    const first = this.#ended.get(0) ?? timings;
    let outputTokens = 0;
    for (const one of this.#ended.values()) outputTokens += one.predicted_n;
    return measureTimings({
      cachedTokens: first.cache_n,
      promptTokens: first.cache_n + first.prompt_n,
      outputTokens,
      startedAt: firstAt - first.prompt_ms,
      firstAt,
      endedAt,
    });
  }
}
