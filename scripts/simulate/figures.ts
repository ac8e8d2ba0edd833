import { FIXED, meanJobMs } from "./scenario.ts";
import type { Summary } from "./summary.ts";

/** A figure to reach (design.md 12), as a ratio of one run where it can be. */
export interface Figure {
  readonly what: string;
  readonly reach: string;
  readonly measured: number;
  readonly isReached: boolean;
}

/** Results of all rules in one scenario, by the rule's name. */
type Results = ReadonlyMap<string, Summary>;

/** Rules of others: what to compare with. */
function peersOf(results: Results): readonly Summary[] {
  return [...results.values()].filter(({ lost, rule }) =>
    lost === 0 && !rule.startsWith("covey")
  );
}

/**
 * The figures that a scenario is there to show.
 *
 * @param scenario Its name.
 * @param summaries Results of all rules that were played.
 * @returns Those that can be had from these results.
 */
export function figuresOf(
  scenario: string,
  summaries: readonly Summary[],
): readonly Figure[] {
  const results = new Map(summaries.map((one) => [one.rule, one]));
  const covey = results.get("covey");
  return covey === undefined ? [] : FIGURES[scenario]?.(covey, results) ?? [];
}

const FIGURES: Readonly<
  Record<string, (covey: Summary, results: Results) => readonly Figure[]>
> = {
  pair_closed: (covey) => [
    least("throughput over one of the two", 2 * covey.capacityShare, 1.95),
  ],
  one_client: (covey) => [
    most(
      "mean over the faster node alone",
      covey.meanS * 1000 / meanJobMs(FIXED),
      1.02,
    ),
  ],
  seed_pair_loop: (covey) => [
    least("share of the bound of 1.85 ×", covey.capacityShare, 0.97),
  ],
  // Four jobs each: the slower one needs 4 ÷ 0.85 job times.
  seed_pair_batch: (covey) => [
    least(
      "share of the bound of 1.70 ×",
      4 / 0.85 * meanJobMs(FIXED) / 1000 / covey.maxS,
      0.97,
    ),
  ],
  trio_24: (covey, results) => [
    least("share of summed capacity", covey.capacityShare, 0.97),
    ...againstRule("P95", covey, results.get("least_connections"), 0.7),
    ...againstBest("P95", covey, results, 1.05),
  ],
  trio_8: belowSaturation,
  trio_half: belowSaturation,
  trio: belowSaturation,
  pi: belowSaturation,
  two_entries: belowSaturation,
  stale: belowSaturation,
  evictions: (covey, results) => againstBest("mean", covey, results, 1.5),
  cold: predictions,
  conversations_idle: (covey) => [
    least("share of turns that stay", covey.kept ?? NaN, 0.9),
    ...predictions(covey),
  ],
  heavy_unknown: ({ p80Held }) => [{
    what: "share of answers within the published P80",
    reach: "0.75 to 0.85",
    measured: p80Held ?? NaN,
    isReached: p80Held !== null && p80Held >= 0.75 && p80Held <= 0.85,
  }],
  throttle: ({ throttledShares }) => {
    const mean = (from: number, until: number) => {
      const bins = throttledShares?.slice(from, until) ?? [];
      return bins.reduce((sum, one) => sum + one, 0) / bins.length;
    };
    const usual = mean(2, 10);
    return [
      most("share 10 to 30 s after the throttle", mean(11, 13) / usual, 0.8),
      least("share 50 s after it ended", mean(25, 30) / usual, 0.85),
    ];
  },
  fast_failing: (covey, results) => {
    const counting = results.get("least_connections");
    return counting === undefined ? [] : [most(
      "failures over those of least_connections",
      covey.failures / counting.failures,
      1 / 3,
    )];
  },
};

function belowSaturation(covey: Summary, results: Results): readonly Figure[] {
  return againstBest("mean", covey, results, 1.05);
}

function predictions(covey: Summary): readonly Figure[] {
  return [
    most("error of TTFT, median", covey.ttftError ?? NaN, 0.1),
    most("error of total, re-priced, median", covey.totalError ?? NaN, 0.1),
  ];
}

function againstBest(
  kind: "mean" | "P95",
  covey: Summary,
  results: Results,
  limit: number,
): readonly Figure[] {
  const best =
    peersOf(results).toSorted((a, b) => timeOf(a, kind) - timeOf(b, kind))[0];
  return againstRule(kind, covey, best, limit);
}

function againstRule(
  kind: "mean" | "P95",
  covey: Summary,
  other: Summary | undefined,
  limit: number,
): readonly Figure[] {
  return other === undefined ? [] : [
    most(
      `${kind} over ${other.rule}`,
      timeOf(covey, kind) / timeOf(other, kind),
      limit,
    ),
  ];
}

function timeOf({ meanS, p95S }: Summary, kind: "mean" | "P95"): number {
  return kind === "mean" ? meanS : p95S;
}

function most(what: string, measured: number, limit: number): Figure {
  const reach = `≤ ${limit.toFixed(2)}`;
  return { what, reach, measured, isReached: measured <= limit };
}

function least(what: string, measured: number, limit: number): Figure {
  const reach = `≥ ${limit.toFixed(2)}`;
  return { what, reach, measured, isReached: measured >= limit };
}

/** Less than this may be chance. */
const WORTH_SAYING = 1.01;

/**
 * Where another rule was better than Covey's.
 *
 * @param summaries Results of all rules that were played.
 * @returns One line for mean and P95 each, for the best of the others.
 */
export function defeatsOf(summaries: readonly Summary[]): readonly string[] {
  const results = new Map(summaries.map((one) => [one.rule, one]));
  const covey = results.get("covey");
  if (covey === undefined) return [];
  return (["mean", "P95"] as const).flatMap((kind) => {
    const best = peersOf(results).toSorted((a, b) =>
      timeOf(a, kind) - timeOf(b, kind)
    )[0];
    if (best === undefined) return [];
    const ratio = timeOf(covey, kind) / timeOf(best, kind);
    return ratio <= WORTH_SAYING
      ? []
      : [`${best.rule} wins on ${kind} by ${(100 * (ratio - 1)).toFixed(1)} %`];
  });
}
