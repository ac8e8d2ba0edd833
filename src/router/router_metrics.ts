import type {
  AttemptOutcome,
  Capability,
  Counter,
  FaultCode,
  Histogram,
  Metrics,
  NodeStanding,
} from "../domain/mod.ts";
import type { RequestOutcome } from "./answer_session.ts";
import type { AnswerTally } from "./answer_tally.ts";
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
  readonly #tokens: Counter;
  readonly #attempts: Counter;
  readonly #withdrawals: Counter;
  readonly #bindings: Counter;
  readonly #failOvers: Counter;
  readonly #failures: Counter;
  readonly #cooldowns: Counter;
  readonly #opened: Counter;
  readonly #divided: Counter;
  readonly #keptTokens: Counter;
  readonly #ttft: Histogram;
  readonly #tpot: Histogram;
  readonly #error: Histogram;
  readonly #forecasts: Counter;

  /**
   * @param metrics Where to register.
   * @param queues Read at scrape time.
   * @param inFlight Read at scrape time.
   * @param standing Read at scrape time.
   */
  constructor(
    metrics: Metrics,
    queues: DeviceQueues,
    inFlight: () => number,
    standing: () => readonly NodeStanding[],
  ) {
    this.#requests = metrics.counter(
      "covey_requests_total",
      "Requests that came to this node and ended",
      ["outcome", "capability"],
    );
    this.#tokens = metrics.counter(
      "covey_tokens_total",
      "Tokens of prompts that came to this node, and of the answers to them, as engines counted them, else one for each chunk with output",
      ["kind"],
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
    this.#bindings = metrics.counter(
      "covey_bindings_total",
      "Attempts that this node put into an engine's queue, its own or a peer's",
      ["place"],
    );
    this.#failOvers = metrics.counter(
      "covey_failovers_total",
      "Attempts that took over from one that had failed, before its first content or in the middle of its answer",
      ["at"],
    );
    this.#failures = metrics.counter(
      "covey_attempt_failures_total",
      "Attempts that failed or broke off, by what failed: the link, the engine or its time",
      ["code"],
    );
    this.#cooldowns = metrics.counter(
      "covey_cooldowns_total",
      "Times that an engine was let rest because it asked for it",
      [],
    );
    this.#opened = metrics.counter(
      "covey_breakers_opened_total",
      "Times that a breaker opened, of an engine or of the link to a member",
      ["scope"],
    );
    this.#divided = metrics.counter(
      "covey_divided_requests_total",
      "Requests whose inputs were divided over several engines",
      [],
    );
    this.#keptTokens = metrics.counter(
      "covey_kept_prompt_tokens_total",
      "Tokens of prompts that were taken to be evaluated already where the request was sent",
      [],
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
      "covey_breakers",
      "Breakers by state, of engines and of the links to members",
      ["scope", "state"],
      () => countBreakers(standing()),
    );
    metrics.gauge(
      "covey_engines_resting",
      "Engines that rest after a 429",
      [],
      () => [{
        value: standing().flatMap(({ engines }) => engines)
          .filter(({ restsForMs }) => restsForMs > 0).length,
        labels: {},
      }],
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

  /** Count what a request took and gave, whatever its outcome. */
  tokens({ promptTokens, outputTokens }: AnswerTally): void {
    this.#tokens.add(promptTokens ?? 0, { kind: "prompt" });
    this.#tokens.add(outputTokens, { kind: "output" });
  }

  /** Count an attempt that ended. */
  attempt(outcome: AttemptOutcome): void {
    this.#attempts.add(1, { outcome });
  }

  /** Count a try to take an attempt back. */
  withdrawal(result: "moved" | "started"): void {
    this.#withdrawals.add(1, { result });
  }

  /** Count an attempt that entered a queue. */
  binding(place: ServedBy): void {
    this.#bindings.add(1, { place });
  }

  /** Count an attempt that takes over from a failed one. */
  failOver(at: "before_content" | "mid_stream"): void {
    this.#failOvers.add(1, { at });
  }

  /** Count an attempt that failed or broke off. */
  failure(code: FaultCode): void {
    this.#failures.add(1, { code });
  }

  /** Count a request whose inputs were divided. */
  divided(): void {
    this.#divided.add(1);
  }

  /** Count tokens of a prompt that are taken to be cached where it goes. */
  keptPrompt(tokens: number): void {
    if (tokens > 0) this.#keptTokens.add(tokens);
  }

  /** Count a rest that an engine asked for. */
  cooldown(): void {
    this.#cooldowns.add(1);
  }

  /** Count a breaker that opened. */
  breakerOpened(scope: "engine" | "member"): void {
    this.#opened.add(1, { scope });
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

const STATES = ["closed", "half_open", "open"] as const;

function countBreakers(nodes: readonly NodeStanding[]) {
  const all = {
    engine: nodes.flatMap(({ engines }) => engines),
    member: nodes,
  };
  return (["engine", "member"] as const).flatMap((scope) =>
    STATES.map((state) => ({
      value: all[scope].filter(({ breaker }) => breaker === state).length,
      labels: { scope, state },
    }))
  );
}
