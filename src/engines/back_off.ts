const SHORTEST_MS = 1_000;
const LONGEST_MS = 60_000;

/**
 * How long to leave an engine alone after it failed.
 *
 * @param failures Failures in a row, 1 or more.
 * @returns 1 s, doubled with each further failure, at most 60 s; in milliseconds.
 */
export function backOffMs(failures: number): number {
  return Math.min(SHORTEST_MS * 2 ** Math.max(failures - 1, 0), LONGEST_MS);
}
