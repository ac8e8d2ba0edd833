import { type Level, observeLevel } from "./level.ts";

/** How much slower a model runs than it is known to, and when that was last seen. */
export interface Slowdown {
  readonly level: Level;
  /** Monotonic time of the last observation. */
  readonly atMs: number;
}

/** While nothing is sent to it nothing is learned, so that a slowdown must fade by itself (routing study, T5). */
const FADE_MS = 30_000;

/** As fast as known. */
export const NO_SLOWDOWN: Slowdown = {
  level: { value: 1, observations: 1, since: 10, latest: [] },
  atMs: 0,
};

/**
 * The slowdown to reckon with: as last seen, faded since. Pure.
 *
 * @param slowdown What was seen.
 * @param nowMs Monotonic time.
 * @returns 1 for none, 2 for half as fast; never below 1.
 */
export function slowdownAt({ level, atMs }: Slowdown, nowMs: number): number {
  if (level.value <= 1) return 1;
  return level.value ** Math.exp(-Math.max(0, nowMs - atMs) / FADE_MS);
}

/**
 * Take an observation in: it jumps when three agree, as every level does. Pure.
 *
 * @param slowdown The slowdown so far.
 * @param ratio Time that something took over the time it is known to take.
 * @param nowMs Monotonic time.
 */
export function observeSlowdown(
  slowdown: Slowdown,
  ratio: number,
  nowMs: number,
): Slowdown {
  if (!Number.isFinite(ratio) || ratio <= 0) return slowdown;
  const value = slowdownAt(slowdown, nowMs);
  const level = observeLevel({ ...slowdown.level, value }, ratio);
  // Faster than known is for the known speed to learn.
  return { level: { ...level, value: Math.max(1, level.value) }, atMs: nowMs };
}
