import type { Metrics } from "../domain/mod.ts";

/** How much slower one model runs here than it is known to. */
export interface ModelSlowdown {
  readonly engine: string;
  readonly model: string;
  /** 1 for not at all, 2 for half as fast. */
  readonly ratio: number;
}

/** What is read at scrape time. */
export interface LearningReaders {
  slowdowns(): readonly ModelSlowdown[];
  /** Factors that this node corrects its candidates' predictions with. */
  corrections(): readonly number[];
}

/**
 * Register what the learners have found out.
 *
 * @param metrics Where to register.
 * @param readers What to read.
 */
export function registerLearningMetrics(
  metrics: Metrics,
  readers: LearningReaders,
): void {
  metrics.gauge(
    "covey_slowdown_ratio",
    "How much slower a model runs on this node than it is known to",
    ["engine", "model"],
    () =>
      readers.slowdowns().map(({ engine, model, ratio }) => ({
        value: ratio,
        labels: { engine, model },
      })),
  );
  metrics.gauge(
    "covey_prediction_correction_ratio",
    "Least and greatest factor that this node corrects its candidates' predictions with",
    ["extreme"],
    () => {
      const factors = [1, ...readers.corrections()];
      return [
        { value: Math.min(...factors), labels: { extreme: "least" } },
        { value: Math.max(...factors), labels: { extreme: "greatest" } },
      ];
    },
  );
}
