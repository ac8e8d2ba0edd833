/**
 * Average exponentially over time.
 *
 * @param before The average so far, or null before the first value.
 * @param value What was seen over the last `tookMs`.
 * @param tookMs Time since the last value.
 * @param overMs Time constant of the average.
 */
export function smooth(
  before: number | null,
  value: number,
  tookMs: number,
  overMs: number,
): number {
  if (before === null) return value;
  return before + (value - before) * (1 - Math.exp(-tookMs / overMs));
}
