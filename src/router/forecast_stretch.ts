import type { ExpectedOutput } from "./output_length.ts";

const WITHIN = 0.8;
/** One answer moves the stretch by at most this share. */
const STEP = 0.05;
const LEAST = 0.5;
const MOST = 5;

/**
 * Keeps the published 80th percentile honest. The lengths of answers alone say
 * too little where requests wait behind others, whose lengths are as uncertain:
 * the distance from median to percentile is stretched until four of five
 * answers end within what was said (Gibbs and Candès, Adaptive Conformal
 * Inference, 2021). One writer: whoever sees answers end.
 */
export class ForecastStretch {
  #factor = 1;

  /** Note whether an answer ended within the percentile that was published for it. */
  observe(held: boolean): void {
    const factor = this.#factor * Math.exp(STEP * (WITHIN - Number(held)));
    this.#factor = Math.min(Math.max(factor, LEAST), MOST);
  }

  /**
   * Stretch what is expected of an answer.
   *
   * @param expected By the lengths seen.
   * @param boundTokens The request's limit, or null.
   * @returns The same with another 80th percentile, at most the limit.
   */
  apply(expected: ExpectedOutput, boundTokens: number | null): ExpectedOutput {
    const { medianTokens, p80Tokens } = expected;
    if (p80Tokens === undefined) return expected;
    const stretched = medianTokens + this.#factor * (p80Tokens - medianTokens);
    return {
      ...expected,
      p80Tokens: Math.min(stretched, boundTokens ?? Infinity),
    };
  }
}
