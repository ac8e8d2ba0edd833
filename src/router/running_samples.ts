import type { Clock } from "../platform/mod.ts";
import { LiveList } from "./live_list.ts";

/** How far an answer has come, as a meter reads it. */
export interface AnswerProgress {
  /** Monotonic times of first and last content, or null before it. */
  readonly content:
    | { readonly firstMs: number; readonly lastMs: number }
    | null;
  readonly tally: { readonly contentEvents: number };
}

/** One answer that is being written. */
export interface RunningAnswer {
  readonly meter: AnswerProgress;
  /** Integral of sequences that run on its device over time, now. */
  concurrencyMs(): number;
  /**
   * What it showed since it was last looked at.
   *
   * @param sample Events with content, the time between them, and the mean number of sequences.
   */
  seen(sample: RunningSample): void;
  /** What the last look at it saw that counts, or null; written by who looks. */
  mark: RunningMark | null;
}

/** What a running answer showed in a while. */
export interface RunningSample {
  /** Mean time per event with content, in milliseconds. */
  readonly perEventMs: number;
  readonly concurrency: number;
}

/** How far an answer had come when somebody looked. */
export interface RunningMark {
  readonly events: number;
  readonly contentAtMs: number;
  readonly atMs: number;
  readonly concurrencyMs: number;
}

const SAMPLE_EVERY_MS = 2000;
const LEAST_EVENTS = 3;

/**
 * Looks at running answers every 2 s, so that a throttled device shows before
 * an answer is complete. Its timer runs only while there are any.
 */
export class RunningSamples implements Disposable {
  readonly #clock: Clock;
  readonly #answers = new LiveList<RunningAnswer>();
  #timer: Disposable | null = null;

  /** @param clock Time. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Look at an answer from now on, until it is removed. */
  add(answer: RunningAnswer): void {
    answer.mark = null;
    this.#answers.add(answer);
    this.#timer ??= this.#clock.every(SAMPLE_EVERY_MS, () => this.#look());
  }

  /** Look at it no longer. */
  remove(answer: RunningAnswer): void {
    this.#answers.delete(answer);
    if (this.#answers.size === 0) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
  }

  #look(): void {
    const nowMs = this.#clock.monotonic();
    for (const answer of this.#answers) {
      const { mark: before, meter } = answer;
      if (meter.content === null) continue;
      const mark: RunningMark = {
        events: meter.tally.contentEvents,
        contentAtMs: meter.content.lastMs,
        atMs: nowMs,
        concurrencyMs: answer.concurrencyMs(),
      };
      const events = mark.events - (before?.events ?? mark.events);
      if (before !== null && events < LEAST_EVENTS) {
        // Too few to tell, unless the time itself does: a slower one waits on.
        if (nowMs - before.atMs < 3 * SAMPLE_EVERY_MS || events < 1) continue;
      }
      answer.mark = mark;
      if (before === null) continue;
      answer.seen({
        perEventMs: (mark.contentAtMs - before.contentAtMs) / events,
        concurrency: (mark.concurrencyMs - before.concurrencyMs) /
          (mark.atMs - before.atMs),
      });
    }
  }
}
