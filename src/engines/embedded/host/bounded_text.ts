/** Most times that llama.cpp lets a grammar repeat anything. */
export const MOST_REPEATED = 1_999;
const BLOCK_CHARACTERS = 1_000;

/** Rule of the characters that long texts are counted by: name and body. */
export const BLOCK_RULE: readonly [string, string] = [
  "jblock",
  `jchar{${BLOCK_CHARACTERS}}`,
];

/**
 * Write down a text's characters within bounds. What is longer than a grammar
 * can count is counted in blocks, so that the longest texts may end up to a
 * block below their bound.
 *
 * @param least Fewest characters, at most `MOST_REPEATED`.
 * @param most Most of them, or null for any number.
 * @returns A GBNF expression, which stands on `BLOCK_RULE`.
 */
export function boundedText(least: number, most: number | null): string {
  if (most === null || most <= MOST_REPEATED) {
    return `jchar{${least},${most ?? ""}}`;
  }
  const further = most - least;
  const start = least === 0 ? "" : `jchar{${least}} `;
  if (further <= MOST_REPEATED) return `${start}jchar{0,${further}}`;
  // Whole blocks first: each text is read in one way, or the work would explode.
  const blocks = Math.min(
    Math.floor(further / BLOCK_CHARACTERS) - 1,
    MOST_REPEATED,
  );
  const [block] = BLOCK_RULE;
  return `${start}${block}{0,${blocks}} jchar{0,${BLOCK_CHARACTERS - 1}}`;
}
