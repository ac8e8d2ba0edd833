/** Output tokens of one answer; `cut` where a limit ended it, so that it might have gone on. */
interface Length {
  readonly tokens: number;
  readonly cut: boolean;
}

/** What is expected of a request's answer, in output tokens. */
export interface ExpectedOutput {
  /** Restricted mean: for queues and sums. */
  readonly meanTokens: number;
  /** Restricted median: for the published figure. */
  readonly medianTokens: number;
  /** Four of five answers are at most so long; absent where nobody reckoned it. */
  readonly p80Tokens?: number;
}

/** Output tokens of an answer of which nothing is known. */
export const PRIOR_OUTPUT_TOKENS = 256;

const KEPT = 200;
/** Sums of fractions differ from 0 in their last digits. */
const LEAST_SURVIVING = 1e-9;
/** Share of answers that are longer than the published bound. */
const BEYOND_P80 = 0.2;
/** Of an answer that is longer than any before, this share of it is taken to be left. */
const OVERDUE_SHARE = 0.25;

/**
 * Lengths of a model's last 200 answers. Answers that a limit cut are censored
 * observations, and the estimate is Kaplan and Meier's: counting them as
 * complete would make every forecast too short (routing study, B7).
 */
export class OutputLengths {
  /** As they came. */
  readonly #lengths: Length[] = [];
  /** The same sorted by length, cut ones last among equals. */
  readonly #sorted: Length[] = [];

  /** Answers that were seen. */
  get observations(): number {
    return this.#lengths.length;
  }

  /**
   * Take an answer in.
   *
   * @param tokens Its output tokens.
   * @param cut Whether it ended before the model was done.
   */
  observe(tokens: number, cut: boolean): void {
    if (!Number.isFinite(tokens) || tokens < 0) return;
    const length = { tokens, cut };
    this.#lengths.push(length);
    this.#sorted.splice(this.#placeOf(length), 0, length);
    if (this.#lengths.length <= KEPT) return;
    const oldest = this.#lengths.shift();
    if (oldest !== undefined) {
      this.#sorted.splice(this.#sorted.indexOf(oldest), 1);
    }
  }

  /** Where in the order it belongs, behind its equals. */
  #placeOf(length: Length): number {
    let from = 0;
    let to = this.#sorted.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      const one = this.#sorted[middle];
      if (one !== undefined && isAfter(one, length)) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /**
   * What to expect of the next answer.
   *
   * @param boundTokens The request's limit (a bound, not a forecast), or null.
   * @param priorTokens Expected tokens beyond the longest answer seen, and of the first one.
   * @returns Mean, median and 80th percentile, all at most the bound. Beyond
   * the longest answer seen, lengths are taken to fall off exponentially.
   */
  expected(
    boundTokens: number | null,
    priorTokens: number = PRIOR_OUTPUT_TOKENS,
  ): ExpectedOutput {
    const bound = boundTokens ?? Infinity;
    const sorted = this.#sorted;
    let left = sorted.length;
    let surviving = 1;
    let atTokens = 0;
    let mean = 0;
    let median: number | null = null;
    let p80: number | null = null;
    for (const { tokens, cut } of sorted) {
      const until = Math.min(tokens, bound);
      mean += surviving * (until - atTokens);
      atTokens = until;
      if (tokens > bound) break;
      if (!cut) surviving *= 1 - 1 / left;
      left--;
      if (median === null && surviving <= 0.5) median = tokens;
      if (surviving <= BEYOND_P80 + LEAST_SURVIVING) p80 ??= tokens;
    }
    const tail = Math.min(priorTokens, bound - atTokens);
    p80 ??= atTokens +
      priorTokens * Math.max(0, Math.log(surviving / BEYOND_P80));
    return {
      meanTokens: mean + surviving * tail,
      medianTokens: Math.min(median ?? atTokens + tail, bound),
      p80Tokens: Math.min(Math.max(p80, median ?? atTokens + tail), bound),
    };
  }

  /**
   * What is left of an answer that is under way: the mean residual life, given
   * that it has come so far.
   *
   * @param soFarTokens Output tokens it has.
   * @param boundTokens The request's limit, or null.
   * @param priorTokens Expected tokens beyond the longest answer seen.
   * @returns Output tokens, at most what the bound leaves.
   */
  remaining(
    soFarTokens: number,
    boundTokens: number | null,
    priorTokens: number = PRIOR_OUTPUT_TOKENS,
  ): number {
    const soFar = Math.max(soFarTokens, 0);
    const bound = Math.max(boundTokens ?? Infinity, soFar);
    const sorted = this.#sorted;
    let left = sorted.length;
    let surviving = 1;
    let survivedSoFar: number | null = null;
    let atTokens = soFar;
    let area = 0;
    for (const { tokens, cut } of sorted) {
      if (tokens > soFar) {
        survivedSoFar ??= surviving;
        const until = Math.min(tokens, bound);
        area += surviving * (until - atTokens);
        atTokens = until;
        if (tokens > bound) break;
      }
      if (!cut) surviving *= 1 - 1 / left;
      left--;
    }
    survivedSoFar ??= surviving;
    if (survivedSoFar < LEAST_SURVIVING) {
      return Math.min(bound - soFar, OVERDUE_SHARE * soFar);
    }
    const tail = Math.min(priorTokens, bound - atTokens);
    return (area + surviving * tail) / survivedSoFar;
  }
}

function isAfter(one: Length, other: Length): boolean {
  return one.tokens > other.tokens ||
    (one.tokens === other.tokens && one.cut && !other.cut);
}
