/**
 * Candidates by their predictions, as far as somebody wants to know: sorting a
 * thousand of them costs more than predicting for half. Equals stay in the
 * order in which they came, in all three. Pure.
 *
 * @module
 */

/**
 * The soonest.
 *
 * @param ones Candidates.
 * @param ms What is predicted, by candidate.
 * @returns Undefined for none.
 */
export function soonestOf(
  ones: readonly number[],
  ms: readonly number[],
): number | undefined {
  let [best] = ones;
  if (best === undefined) return undefined;
  let bestMs = ms[best] ?? 0;
  for (const one of ones) {
    const oneMs = ms[one] ?? 0;
    if (oneMs >= bestMs) continue;
    best = one;
    bestMs = oneMs;
  }
  return best;
}

/**
 * The soonest few, the soonest at the front.
 *
 * @param ones Candidates.
 * @param ms What is predicted, by candidate.
 * @param count How many at most.
 */
export function soonestFew(
  ones: readonly number[],
  ms: readonly number[],
  count: number,
): readonly number[] {
  if (ones.length <= count) return soonestFirst(ones, ms);
  const few: number[] = [];
  for (const one of ones) {
    const oneMs = ms[one] ?? 0;
    let at = few.length;
    while (at > 0 && oneMs < (ms[few[at - 1] ?? 0] ?? 0)) at--;
    if (at >= count) continue;
    if (few.length === count) few.pop();
    few.splice(at, 0, one);
  }
  return few;
}

/**
 * All of them, the soonest at the front.
 *
 * @param ones Candidates.
 * @param ms What is predicted, by candidate.
 */
export function soonestFirst(
  ones: readonly number[],
  ms: readonly number[],
): readonly number[] {
  return ones.length < 2
    ? ones
    : ones.toSorted((a, b) => compare(ms[a] ?? 0, ms[b] ?? 0));
}

/** A difference would be a number to make and to collect for every comparison. */
function compare(a: number, b: number): number {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}
