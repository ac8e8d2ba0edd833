import { jobsPerSecond, meanJobMs, type Scenario } from "./scenario.ts";
import type { JobRecord, RunRecord } from "./simulation.ts";

/** Figures of one rule in one scenario, over all seeds. Times in seconds. */
export interface Summary {
  readonly rule: string;
  readonly jobs: number;
  readonly meanS: number;
  readonly p50S: number;
  readonly p95S: number;
  readonly p99S: number;
  readonly maxS: number;
  readonly ttftP50S: number;
  /** Completions a second between the 10th and 90th percentile, over what all nodes can do. */
  readonly capacityShare: number;
  /** Busy share of all slots. */
  readonly utilisation: number;
  /** Share of requests that each node served. */
  readonly shares: Readonly<Record<string, number>>;
  readonly movedShare: number;
  /** Attempts that failed and were tried elsewhere. */
  readonly failures: number;
  readonly loads: number;
  readonly lost: number;
  /** Medians of |predicted − actual| ÷ actual; total with decode re-priced; null without prediction. */
  readonly ttftError: number | null;
  readonly totalError: number | null;
  /** Share of answers that ended within the 80th percentile published for them, or null. */
  readonly p80Held: number | null;
  /** Share of turns after the first that stayed where the one before ran, or null. */
  readonly kept: number | null;
  /** Share of the throttled node per 10 s of its period, or null. */
  readonly throttledShares: readonly number[] | null;
}

/** Share of the run that is left out at its start. */
const WARM_UP = 0.1;
const BIN_MS = 10_000;

/**
 * Sum runs of one rule up.
 *
 * @param rule Its name.
 * @param scenario The world.
 * @param runs One per seed.
 */
export function summarise(
  rule: string,
  scenario: Scenario,
  runs: readonly RunRecord[],
): Summary {
  const counted = runs.flatMap(({ jobs }) =>
    jobs.filter(({ job }) => job.n >= WARM_UP * scenario.jobs)
  );
  const totals = sorted(counted.map((one) => one.doneAtMs - one.arrivedAtMs));
  const ttfts = sorted(counted.map((one) => one.firstAtMs - one.arrivedAtMs));
  const slotMs = runs.reduce(
    (sum, run) => sum + run.endedAtMs * scenario.nodes.length,
    0,
  );
  const busyMs = runs.reduce(
    (sum, run) => sum + run.busyMs.reduce((a, b) => a + b, 0),
    0,
  );
  return {
    rule,
    jobs: counted.length,
    meanS: mean(totals) / 1000,
    p50S: at(totals, 0.5) / 1000,
    p95S: at(totals, 0.95) / 1000,
    p99S: at(totals, 0.99) / 1000,
    maxS: (totals.at(-1) ?? 0) / 1000,
    ttftP50S: at(ttfts, 0.5) / 1000,
    capacityShare: mean(runs.map((run) => capacityShare(scenario, run))),
    utilisation: busyMs / slotMs,
    shares: Object.fromEntries(
      scenario.nodes.map(({ name }, index) => [
        name,
        shareOf(counted, (one) => one.node === index),
      ]),
    ),
    movedShare: shareOf(counted, (one) => one.moves > 0),
    failures: counted.reduce((sum, one) => sum + one.failures, 0),
    loads: runs.reduce(
      (sum, run) => sum + run.loads.reduce((a, b) => a + b, 0),
      0,
    ),
    lost: runs.reduce((sum, { lost }) => sum + lost, 0),
    ttftError: errorOf(counted, ttftError),
    totalError: errorOf(counted, totalError),
    p80Held: p80Held(counted),
    kept: keptShare(scenario, runs),
    throttledShares: throttledShares(scenario, counted),
  };
}

function ttftError(one: JobRecord): number | null {
  if (one.predicted === null) return null;
  const actualMs = one.firstAtMs - one.predictedAtMs;
  return Math.abs(one.predicted.ttftMs - actualMs) / actualMs;
}

function totalError(one: JobRecord): number | null {
  if (one.predicted === null) return null;
  const { totalMs, tpotMs, outputTokens } = one.predicted;
  const actualMs = one.doneAtMs - one.predictedAtMs;
  const repricedMs = totalMs + tpotMs * (one.job.outputTokens - outputTokens);
  return Math.abs(repricedMs - actualMs) / actualMs;
}

function p80Held(records: readonly JobRecord[]): number | null {
  const held = records.flatMap(({ predicted, predictedAtMs, doneAtMs }) => {
    const p80Ms = predicted?.p80Ms ?? null;
    return p80Ms === null ? [] : [doneAtMs - predictedAtMs <= p80Ms];
  });
  return held.length === 0 ? null : shareOf(held, (one) => one);
}

function errorOf(
  records: readonly JobRecord[],
  error: (one: JobRecord) => number | null,
): number | null {
  const errors = records.map(error).filter((one) => one !== null);
  return errors.length === 0 ? null : at(sorted(errors), 0.5);
}

/** Of the work done between two percentiles of completions, how much of all nodes' it took. */
function capacityShare(scenario: Scenario, run: RunRecord): number {
  const done = sorted(run.jobs.map(({ doneAtMs }) => doneAtMs));
  const [fromMs, untilMs] = [at(done, 0.1), at(done, 0.9)];
  const jobMs = meanJobMs(scenario.lengths);
  const capacity = scenario.nodes.reduce(
    (sum, one) => sum + jobsPerSecond(one, jobMs),
    0,
  );
  const between = run.jobs.filter(({ doneAtMs }) =>
    doneAtMs > fromMs && doneAtMs <= untilMs
  );
  const workMs = between.reduce(
    (sum, { job }) =>
      sum + job.noise * meanJobMs({
          kind: "fixed",
          promptTokens: job.promptTokens,
          outputTokens: job.outputTokens,
        }),
    0,
  );
  return workMs / jobMs * 1000 / (untilMs - fromMs) / capacity;
}

function keptShare(
  scenario: Scenario,
  runs: readonly RunRecord[],
): number | null {
  if (scenario.arrivals.kind !== "conversations") return null;
  let kept = 0;
  let turns = 0;
  for (const run of runs) {
    const nodes = new Map(run.jobs.map(({ job, node }) => [job.n, node]));
    for (const { job, node } of run.jobs) {
      if (job.n % scenario.arrivals.turns === 0) continue;
      turns++;
      if (nodes.get(job.n - 1) === node) kept++;
    }
  }
  return kept / turns;
}

function throttledShares(
  scenario: Scenario,
  records: readonly JobRecord[],
): readonly number[] | null {
  const index = scenario.nodes.findIndex(({ throttle }) => throttle !== null);
  const throttle = scenario.nodes[index]?.throttle ?? null;
  if (throttle === null) return null;
  const bins = Math.floor(throttle.periodMs / BIN_MS);
  return Array.from({ length: bins }, (_, bin) => {
    const here = records.filter(({ arrivedAtMs }) =>
      Math.floor((arrivedAtMs % throttle.periodMs) / BIN_MS) === bin
    );
    return shareOf(here, (one) => one.node === index);
  });
}

/** Value at a share of a sorted list. */
export function at(values: readonly number[], share: number): number {
  return values[
    Math.min(values.length - 1, Math.floor(share * values.length))
  ] ??
    NaN;
}

/** Arithmetic mean. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}

function sorted(values: readonly number[]): number[] {
  return values.toSorted((a, b) => a - b);
}

function shareOf<T>(all: readonly T[], is: (one: T) => boolean): number {
  return all.length === 0 ? 0 : all.filter(is).length / all.length;
}
