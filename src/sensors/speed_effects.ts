import { SPEED_PRIORS, type SpeedCondition } from "./speed_conditions.ts";

/** The prior weighs like this many observations. */
const PRIOR_WEIGHT = 5;
/** Least weight of a new observation, so that effects follow the seasons. */
const LEAST_GAIN = 0.05;
/** One observation counts as at most this far off, in logarithms: a factor of 2. */
const CLIP = 0.7;
/** Three in a row that agree like this mean that the effect changed. */
const AGREEING = 3;
const SHIFT = 0.25;
const SPREAD = 0.6;
/** No condition makes faster, and none is believed to stop everything. */
const LEAST_EFFECT = 0.05;

interface Effect {
  /** Logarithm of the speed under the condition over that without it. */
  readonly log: number;
  readonly observations: number;
}

/**
 * What each condition does to speed: a multiplicative effect, learned from
 * observations and shrunk towards its prior. Where several hold at once, each
 * takes the part of the surprise that fits how little is known of it (one step
 * of a Kalman filter over the sum of their logarithms).
 */
export class SpeedEffects {
  readonly #effects = new Map<SpeedCondition, Effect>();
  /** The latest surprises under the same conditions, oldest first. */
  #latest: readonly number[] = [];
  #latestKey = "";

  /** Expected speed under conditions, over speed without: above 0, at most 1. */
  factor(conditions: ReadonlySet<SpeedCondition>): number {
    return Math.exp(this.#sum(conditions));
  }

  /** The effect of one condition and the observations it rests on. */
  effect(
    condition: SpeedCondition,
  ): { readonly share: number; readonly observations: number } {
    const { log, observations } = this.#of(condition);
    return { share: Math.exp(log), observations };
  }

  /**
   * Learn from an observation.
   *
   * @param relativeSpeed Observed speed over the speed learned without any condition.
   * @param conditions Those that held.
   */
  observe(
    relativeSpeed: number,
    conditions: ReadonlySet<SpeedCondition>,
  ): void {
    if (!Number.isFinite(relativeSpeed) || relativeSpeed <= 0) return;
    if (conditions.size === 0) return;
    const surprise = Math.log(relativeSpeed) - this.#sum(conditions);
    const agreed = this.#agreed(surprise, [...conditions].join());
    const doubts = new Map([...conditions].map((condition) => {
      const { observations } = this.#of(condition);
      const least = LEAST_GAIN / (1 - LEAST_GAIN);
      return [
        condition,
        Math.max(1 / (PRIOR_WEIGHT + observations), least),
      ] as const;
    }));
    const doubt = [...doubts.values()].reduce((sum, one) => sum + one, 0);
    const step = agreed ??
      Math.min(Math.max(surprise, -CLIP), CLIP) * doubt / (1 + doubt);
    for (const [condition, share] of doubts) {
      const { log, observations } = this.#of(condition);
      this.#effects.set(condition, {
        log: Math.min(
          Math.max(log + step * share / doubt, Math.log(LEAST_EFFECT)),
          0,
        ),
        observations: observations + 1,
      });
    }
  }

  /** The surprise to take over at once, when the last three agree on one; else null. */
  #agreed(surprise: number, key: string): number | null {
    const before = key === this.#latestKey ? this.#latest : [];
    this.#latestKey = key;
    this.#latest = [...before, surprise].slice(-AGREEING);
    if (this.#latest.length < AGREEING) return null;
    const low = Math.min(...this.#latest);
    const high = Math.max(...this.#latest);
    const agree = high - low <= SPREAD && (low > SHIFT || high < -SHIFT);
    if (!agree) return null;
    // From here on they are no surprise any more.
    this.#latest = [];
    return this.#middle([low, surprise, high]);
  }

  #middle(three: readonly number[]): number {
    return three.toSorted((a, b) => a - b)[1] ?? 0;
  }

  #sum(conditions: ReadonlySet<SpeedCondition>): number {
    let sum = 0;
    for (const condition of conditions) sum += this.#of(condition).log;
    return sum;
  }

  #of(condition: SpeedCondition): Effect {
    return this.#effects.get(condition) ??
      { log: Math.log(SPEED_PRIORS[condition]), observations: 0 };
  }
}
