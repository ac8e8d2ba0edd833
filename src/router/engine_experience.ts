import type {
  Attempt,
  Eviction,
  Offer,
  Rates,
  SpeedPrior,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import type { AnswerMeter } from "./answer_meter.ts";
import { observationOf } from "./answer_observation.ts";
import { ArrivalRates } from "./arrival_rates.ts";
import { choicesOf, planChoices } from "./choices.ts";
import { decodes } from "./estimate.ts";
import type { HeldAttempt } from "./held_attempt.ts";
import type { ModelSlowdown } from "./learning_metrics.ts";
import { LengthBook } from "./length_book.ts";
import { decodeLength, lengthFactor } from "./length_shape.ts";
import { learnFrom, ratesAt } from "./machine_speed.ts";
import { ModelRates } from "./model_rates.ts";
import {
  type RunningAnswer,
  type RunningMark,
  type RunningSample,
  RunningSamples,
} from "./running_samples.ts";

/** What one engine's experience rests on. */
export interface EngineExperienceOptions {
  readonly clock: Clock;
  /** What its machine's state does to its speed; null where it computes elsewhere. */
  readonly speed: SpeedPrior | null;
}

/** An answer that is looked at while it is written. */
export interface AnswerSampling extends Disposable {
  /** Whether anything was seen. */
  readonly sampled: boolean;
}

const UNSAMPLED: AnswerSampling = {
  sampled: false,
  [Symbol.dispose]() {},
};

/**
 * What one engine's answers have taught: how fast each of its models is, how
 * long answers are, how often each is asked for. Sole writer of all of it.
 */
export class EngineExperience implements Disposable {
  readonly #options: EngineExperienceOptions;
  readonly #rates = new Map<string, ModelRates>();
  readonly #lengths = new LengthBook();
  readonly #arrivals = new ArrivalRates();
  readonly #samples: RunningSamples;

  /** @param options Clock, and the machine's speed. */
  constructor(options: EngineExperienceOptions) {
    this.#options = options;
    this.#samples = new RunningSamples(options.clock);
  }

  /** What was learned, over the engine's own word, at the machine's speed now. */
  ratesNow(offer: Offer): Rates {
    const learned = this.#rates.get(offer.model);
    const rates = learned === undefined
      ? offer.rates
      : learned.over(offer.rates, this.#options.clock.monotonic());
    return ratesAt(rates, this.#options.speed?.factor() ?? 1);
  }

  /** Whether the time per token of a model was ever seen. */
  knowsDecode(model: string): boolean {
    return this.#ratesOf(model).knowsDecode;
  }

  /**
   * How much slower each model that was used runs than it is known to.
   *
   * @param engine Its name.
   */
  slowdowns(engine: string): readonly ModelSlowdown[] {
    const nowMs = this.#options.clock.monotonic();
    return [...this.#rates].map(([model, rates]) => ({
      engine,
      model,
      ratio: rates.slowdown(nowMs),
    }));
  }

  /** Note that a model was asked for. */
  asked(model: string): void {
    this.#arrivals.observe(model, this.#options.clock.monotonic());
  }

  /** How likely what would be evicted is asked for again before it would go anyway. */
  counted(eviction: Eviction): Eviction {
    const { idleMs, keepMs = Infinity, model } = eviction;
    return {
      ...eviction,
      reuseChance: this.#arrivals.reuseChance(
        model,
        keepMs - idleMs,
        this.#options.clock.monotonic(),
      ),
    };
  }

  /** Learn from an answer while it is written, until disposed. */
  sample(
    held: HeldAttempt,
    attempt: Attempt,
    offer: Offer,
    meter: AnswerMeter,
  ): AnswerSampling {
    // Chunks of several answers come as fast as all of them together.
    if (choicesOf(attempt.request) > 1) return UNSAMPLED;
    const sampled = new SampledAnswer(held, meter, {
      seen: ({ perEventMs, concurrency }) => {
        const factor = this.#options.speed?.factor() ?? 1;
        const rates = this.#ratesOf(offer.model);
        rates.observeRunning(
          {
            perEventMs: perEventMs * factor,
            concurrency,
            contextTokens: attempt.request.promptTokens +
              meter.tally.contentEvents * rates.tokensPerEvent,
          },
          this.#options.clock.monotonic(),
        );
      },
      over: () => this.#samples.remove(sampled),
    });
    this.#samples.add(sampled);
    return sampled;
  }

  /**
   * Learn from a whole answer.
   *
   * @param offer As it was when the answer began.
   * @param facts When it began, its company, and what a load took; null for none.
   */
  learn(
    attempt: Attempt,
    offer: Offer,
    meter: AnswerMeter,
    facts: {
      readonly startedAtMs: number;
      readonly concurrency: number;
      readonly sampled: boolean;
      readonly loadTimeMs: number | null;
    },
  ): void {
    const nowMs = this.#options.clock.monotonic();
    learnFrom(
      this.#ratesOf(offer.model),
      observationOf(attempt, offer, meter, { ...facts, endedAtMs: nowMs }),
      offer,
      this.#options.speed,
      nowMs,
    );
    const { tally } = meter;
    if (!decodes(attempt.request.capability) || !tally.hasContent) return;
    this.#lengths.observe(
      offer.model,
      tally.outputTokens / choicesOf(attempt.request),
      tally.cut,
      clientOf(attempt),
    );
  }

  /**
   * What is left of an answer by its length so far.
   *
   * @param running Sequences that run beside it, itself included.
   * @returns Milliseconds; null before its first token.
   */
  leftMs(
    attempt: Attempt,
    raw: Offer,
    meter: AnswerMeter,
    running: number,
  ): number | null {
    if (meter.content === null || !decodes(attempt.request.capability)) {
      return null;
    }
    const lengths = this.#lengths.find(raw.model, clientOf(attempt));
    if (lengths === undefined) return null;
    const rates = this.#ratesOf(raw.model);
    const choices = choicesOf(attempt.request);
    const soFar = meter.tally.contentEvents / choices * rates.tokensPerEvent;
    const tokens = lengths.remaining(
      soFar,
      attempt.request.maxOutputTokens,
      attempt.expectedOutputTokens,
    );
    const length = decodeLength(attempt.request.promptTokens + soFar, tokens);
    const { lanes, rounds } = planChoices(choices, raw.queue.slots, running);
    const { clock, speed } = this.#options;
    const tpotMs =
      rates.tpotAt(raw.rates, running + lanes - 1, clock.monotonic()) /
      (speed?.factor() ?? 1) * lengthFactor(rates.decodeFactors, length);
    return tokens * rounds * tpotMs;
  }

  [Symbol.dispose](): void {
    this.#samples[Symbol.dispose]();
  }

  #ratesOf(model: string): ModelRates {
    let rates = this.#rates.get(model);
    if (rates === undefined) {
      rates = new ModelRates();
      this.#rates.set(model, rates);
    }
    return rates;
  }
}

/** A running answer, and whether it has shown anything. */
class SampledAnswer implements RunningAnswer, AnswerSampling {
  readonly meter: AnswerMeter;
  mark: RunningMark | null = null;
  readonly #held: HeldAttempt;
  readonly #owner: {
    seen(sample: RunningSample): void;
    over(): void;
  };
  #sampled = false;

  constructor(
    held: HeldAttempt,
    meter: AnswerMeter,
    owner: { seen(sample: RunningSample): void; over(): void },
  ) {
    this.#held = held;
    this.meter = meter;
    this.#owner = owner;
  }

  get sampled(): boolean {
    return this.#sampled;
  }

  concurrencyMs(): number {
    return this.#held.concurrencyMs;
  }

  seen(sample: RunningSample): void {
    this.#sampled = true;
    this.#owner.seen(sample);
  }

  [Symbol.dispose](): void {
    this.#owner.over();
  }
}

/** Two entry nodes may use the same tag for different people. */
export function clientOf(attempt: Attempt): string {
  return `${attempt.entry} ${attempt.request.client}`;
}
