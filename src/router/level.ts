/**
 * A positive quantity that is learned from noisy observations: the learner that
 * did best in the routing study (B7). It follows slow drift as an exponential
 * average of logarithms, shrugs at single outliers, and jumps when the last
 * three observations agree that something changed.
 */
export interface Level {
  /** The value to reckon with: the prior until something was observed. */
  readonly value: number;
  /** Observations it rests on; 0 means the prior alone. */
  readonly observations: number;
  /** Observations since the last jump, for the learning rate. */
  readonly since: number;
  /** Logarithms of the latest observations, oldest first, at most three. */
  readonly latest: readonly number[];
}

const SLOWEST_RATE = 0.1;
/** One observation moves the average as if it were at most 1.65 times off. */
const CLIP = 0.5;
const AGREEING = 3;
/** The three must all be more than this to one side of the level … */
const SHIFT = 0.25;
/** … and no further apart than this. */
const SPREAD = 0.6;

/**
 * Begin a level.
 *
 * @param prior Value before anything was observed, above 0.
 * @returns The level.
 */
export function startLevel(prior: number): Level {
  return { value: prior, observations: 0, since: 0, latest: [] };
}

/**
 * Take an observation in.
 *
 * @param level The level so far.
 * @param observed What was measured; anything but a finite number above 0 is no observation.
 * @returns The level after it.
 */
export function observeLevel(level: Level, observed: number): Level {
  if (!Number.isFinite(observed) || observed <= 0) return level;
  const log = Math.log(observed);
  const latest = [...level.latest, log].slice(-AGREEING);
  const observations = level.observations + 1;
  // A prior is a guess about this machine: the first measurement replaces it.
  if (level.observations === 0) {
    return { value: observed, observations, since: 1, latest };
  }
  const before = Math.log(level.value);
  if (hasShifted(latest, before)) {
    return {
      value: Math.exp(middle(latest)),
      observations,
      since: AGREEING,
      latest,
    };
  }
  const since = level.since + 1;
  const rate = Math.max(1 / since, SLOWEST_RATE);
  const step = Math.min(Math.max(log - before, -CLIP), CLIP);
  return {
    value: Math.exp(before + rate * step),
    observations,
    since,
    latest,
  };
}

function hasShifted(latest: readonly number[], level: number): boolean {
  if (latest.length < AGREEING) return false;
  const low = Math.min(...latest);
  const high = Math.max(...latest);
  return high - low <= SPREAD && (low > level + SHIFT || high < level - SHIFT);
}

function middle(three: readonly number[]): number {
  return three.toSorted((a, b) => a - b)[1] ?? 0;
}
