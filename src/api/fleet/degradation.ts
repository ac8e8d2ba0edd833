/** What a fleet of a certain size is asked to do (design.md 9, seed 2's table). */
export type Degradation =
  | "unavailable"
  | "full"
  | "one_left"
  | "fewer_parallel"
  | "smaller_pool"
  | "no_batch";

/**
 * Name the row of the degradation table that holds; the first one that fits
 * wins. Pure.
 *
 * @param fleet Workers that are not draining, and those of them that can be used.
 */
export function degradationOf(
  { available, total }: { readonly available: number; readonly total: number },
): Degradation {
  if (available === 0) return "unavailable";
  if (total === 1) return "full";
  if (available === 1) return "one_left";
  if (available === total) return "full";
  if (available * 4 >= total * 3) return "fewer_parallel";
  return available * 2 >= total ? "smaller_pool" : "no_batch";
}
