/**
 * Find the name that a misspelt one was probably meant to be.
 *
 * @param word What somebody wrote, at most 64 characters of which are looked at.
 * @param known The names there are.
 * @returns The nearest name by optimal string alignment distance, or undefined
 * when none is within a third of the word's length (at least one edit).
 */
export function nearestName(
  word: string,
  known: Iterable<string>,
): string | undefined {
  const lower = word.slice(0, 64).toLowerCase();
  let found: string | undefined;
  let best = Math.max(1, Math.floor(lower.length / 3)) + 1;
  for (const name of known) {
    const edits = distance(lower, name.toLowerCase());
    if (edits < best) {
      best = edits;
      found = name;
    }
  }
  return found;
}

function distance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let edits = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 &&
        left[row - 1] === right[column - 2] &&
        left[row - 2] === right[column - 1];
      if (swapped) edits = Math.min(edits, (beforeLast[column - 2] ?? 0) + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return last[right.length] ?? 0;
}
