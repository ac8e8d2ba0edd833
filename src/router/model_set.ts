import type { ModelSet } from "../domain/mod.ts";

/**
 * Find the set that a name stands for.
 *
 * @param asked What the caller asked for.
 * @param sets What the operator declared.
 * @returns The set of that very name, else the one with the longest pattern
 * that fits, or undefined.
 */
export function setFor(
  asked: string,
  sets: readonly ModelSet[],
): ModelSet | undefined {
  let found: ModelSet | undefined;
  for (const set of sets) {
    if (set.name === asked) return set;
    const isLonger = set.name.length > (found?.name.length ?? 0);
    if (isLonger && matchesPattern(set.name, asked)) found = set;
  }
  return found;
}

/**
 * Tell whether a name fits a pattern, in time that grows with their lengths
 * alone: no pattern can make it search back and forth.
 *
 * @param pattern A name in which `*` stands for any text.
 * @param name The name.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const pieces = pattern.split("*");
  const first = pieces[0] ?? "";
  if (pieces.length === 1) return name === pattern;
  const last = pieces.at(-1) ?? "";
  if (name.length < first.length + last.length) return false;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
