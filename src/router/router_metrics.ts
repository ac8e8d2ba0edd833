import type {
  AttemptOutcome,
  Capability,
  Counter,
  Histogram,
  Metrics,
} from "../domain/mod.ts";
import type { RequestOutcome } from "./answer_session.ts";
import type { DeviceQueues } from "./device_queues.ts";

/** Where an answer came from, as a label. */
export type ServedBy = "self" | "peer";

/** What a finished answer showed. */
export interface MeasuredAnswer {
  readonly servedBy: ServedBy;
  readonly ttftMs: number | null;
  readonly totalMs: number;
  readonly outputTokens: number;
  /** Predictions, the total with its decode re-priced at the actual token count. */
  readonly predictedTtftMs: number;
  readonly predictedTotalMs: number;
  /** The published 80th percentile; null where the request's own limit made it, not a forecast. */
  readonly forecastP80Ms: number | null;
}

const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const TOKEN_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const RATIOS = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 2, 5];

/** The router's own metrics. No label ever holds a caller's words. */
export class RouterMetrics {
  readonly #requests: Counter;
  readonly #attempts: Counter;
  readonly #withdrawals: Counter;
  readonly #ttft: Histogram;
  readonly #tpot: Histogram;
  readonly #error: Histogram;
  readonly #forecasts: Counter;

  /**
   * @param metrics Where to register.
   * @param queues Read at scrape time.
   * @param inFlight Read at scrape time.
   */
  constructor(metrics: Metrics, queues: DeviceQueues, inFlight: () => number) {
    this.#requests = metrics.counter(
      "covey_requests_total",
      "Requests that came to this node and ended",
      ["outcome", "capability"],
    );
    this.#attempts = metrics.counter(
      "covey_attempts_total",
      "Attempts at engines that ended",
      ["outcome"],
    );
    this.#withdrawals = metrics.counter(
      "covey_withdrawals_total",
      "Attempts that this node tried to take back unstarted, because another engine was free sooner",
      ["result"],
    );
    this.#ttft = metrics.histogram(
      "gen_ai_server_time_to_first_token_seconds",
      "From a request's arrival to its first token",
      SECONDS,
      ["served_by"],
    );
    this.#tpot = metrics.histogram(
      "gen_ai_server_time_per_output_token_seconds",
      "Mean time between the output tokens of an answer",
      TOKEN_SECONDS,
      ["served_by"],
    );
    this.#error = metrics.histogram(
      "covey_prediction_error_ratio",
      "Difference of predicted and actual time, as a share of the actual",
      RATIOS,
      ["figure"],
    );
    this.#forecasts = metrics.counter(
      "covey_forecast_p80_total",
      "Answers whose length was forecast, by whether they ended within the published 80th percentile",
      ["held"],
    );
    metrics.gauge(
      "covey_queue_waiting",
      "Attempts that wait for a device of this node",
      ["device"],
      () =>
        [...queues.all()].map(([device, queue]) => ({
          value: queue.waiting,
          labels: { device },
        })),
    );
    metrics.gauge(
      "covey_queue_running",
      "Attempts that run on a device of this node",
      ["device"],
      () =>
        [...queues.all()].map(([device, queue]) => ({
          value: queue.running,
          labels: { device },
        })),
    );
    metrics.gauge(
      "covey_inflight",
      "Requests and peers' attempts that are not over",
      [],
      () => [{ value: inFlight(), labels: {} }],
    );
  }

  /** Count a request that ended. */
  request(outcome: RequestOutcome, capability: Capability): void {
    this.#requests.add(1, { outcome, capability });
  }

  /** Count an attempt that ended. */
  attempt(outcome: AttemptOutcome): void {
    this.#attempts.add(1, { outcome });
  }

  /** Count a try to take an attempt back. */
  withdrawal(result: "moved" | "started"): void {
    this.#withdrawals.add(1, { result });
  }

  /** Measure a complete answer against its prediction. */
  answer(seen: MeasuredAnswer): void {
    const labels = { served_by: seen.servedBy };
    if (seen.ttftMs !== null) {
      this.#ttft.observe(seen.ttftMs / 1000, labels);
      this.#observeError("ttft", seen.predictedTtftMs, seen.ttftMs);
      if (seen.outputTokens > 1) {
        const gapMs = (seen.totalMs - seen.ttftMs) / (seen.outputTokens - 1);
        this.#tpot.observe(gapMs / 1000, labels);
      }
    }
    this.#observeError("total", seen.predictedTotalMs, seen.totalMs);
    if (seen.forecastP80Ms !== null) {
      const held = seen.totalMs <= seen.forecastP80Ms ? "yes" : "no";
      this.#forecasts.add(1, { held });
    }
  }

  #observeError(figure: string, predictedMs: number, actualMs: number): void {
    if (!(actualMs > 0)) return;
    const ratio = Math.abs(predictedMs - actualMs) / actualMs;
    this.#error.observe(ratio, { figure });
  }
}
