/**
 * Length of the end of a text that must not be shown yet: the beginning of a
 * stop string, or the first half of a character.
 *
 * @param text Text so far.
 * @param stops Stop strings, none empty.
 * @returns UTF-16 units to hold back.
 */
export function heldTail(text: string, stops: readonly string[]): number {
  let longest = isHighHalf(text.charCodeAt(text.length - 1)) ? 1 : 0;
  for (const stop of stops) {
    const most = Math.min(stop.length - 1, text.length);
    for (let length = most; length > longest; length--) {
      if (!text.endsWith(stop.slice(0, length))) continue;
      longest = length;
      break;
    }
  }
  return longest;
}

function isHighHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
