/**
 * Choose by a recorded seed, so that a replay chooses the same.
 *
 * @param seed A decision's seed, a 32-bit integer.
 * @param count How many there are to choose from, at least 1.
 * @returns An index below `count`.
 */
export function seededChoice(seed: number, count: number): number {
  // One round of the murmur3 finaliser spreads neighbouring seeds.
  let mixed = seed >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) % count;
}
