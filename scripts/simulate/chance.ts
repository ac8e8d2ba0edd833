import { createSeededEntropy } from "../../src/platform/mod.ts";

/** Numbers drawn from one seed. */
export interface Chance {
  /** In [0, 1). */
  uniform(): number;
  /** Mean 0, standard deviation 1. */
  normal(): number;
  /** Exponential with a mean. */
  exponential(mean: number): number;
}

/**
 * Make a stream of chance. Streams of different names are independent, so that
 * drawing more from one changes nothing in another: runs stay paired.
 *
 * @param seed Seed of the run.
 * @param stream Name of the stream.
 */
export function createChance(seed: number, stream: string): Chance {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  for (const letter of stream) {
    mixed = Math.imul(mixed ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  }
  const entropy = createSeededEntropy(mixed);
  const uniform = () => entropy.float();
  return {
    uniform,
    normal: () =>
      Math.sqrt(-2 * Math.log(1 - uniform())) *
      Math.cos(2 * Math.PI * uniform()),
    exponential: (mean) => -mean * Math.log(1 - uniform()),
  };
}
