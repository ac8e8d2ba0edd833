/** llama-server's `timings`; times in milliseconds. */
export interface Timings {
  /** Prompt tokens that were evaluated by an earlier request. */
  readonly cache_n: number;
  /** Prompt tokens that this request evaluated. */
  readonly prompt_n: number;
  readonly prompt_ms: number;
  readonly prompt_per_token_ms: number;
  readonly prompt_per_second: number;
  readonly predicted_n: number;
  readonly predicted_ms: number;
  readonly predicted_per_token_ms: number;
  readonly predicted_per_second: number;
  readonly [key: string]: number;
}

/** OpenAI's `usage`. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly [key: string]: number | { readonly cached_tokens: number };
}

/** What timings are made of; moments by one monotonic clock. */
export interface Measured {
  readonly cachedTokens: number;
  /** All tokens of the prompt. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly startedAt: number;
  /** When the first token was there. */
  readonly firstAt: number;
  readonly endedAt: number;
}

function rates(count: number, ms: number): readonly [number, number] {
  return [count === 0 ? 0 : ms / count, ms === 0 ? 0 : count * 1000 / ms];
}

/**
 * Work out the timings of an answer. Prefill lasts to the first token, as in
 * llama-server; waiting for a slot counts nowhere.
 *
 * @param measured Counts and moments.
 */
export function measureTimings(measured: Measured): Timings {
  const promptCount = measured.promptTokens - measured.cachedTokens;
  const promptMs = measured.firstAt - measured.startedAt;
  const predictedMs = measured.endedAt - measured.firstAt;
  const [promptEach, promptRate] = rates(promptCount, promptMs);
  const [predictedEach, predictedRate] = rates(
    measured.outputTokens,
    predictedMs,
  );
  return {
    cache_n: measured.cachedTokens,
    prompt_n: promptCount,
    prompt_ms: promptMs,
    prompt_per_token_ms: promptEach,
    prompt_per_second: promptRate,
    predicted_n: measured.outputTokens,
    predicted_ms: predictedMs,
    predicted_per_token_ms: predictedEach,
    predicted_per_second: predictedRate,
  };
}

/**
 * The usage that belongs to timings.
 *
 * @param timings Of the answer.
 */
export function usageOf(timings: Timings): Usage {
  const promptTokens = timings.cache_n + timings.prompt_n;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: timings.predicted_n,
    total_tokens: promptTokens + timings.predicted_n,
    prompt_tokens_details: { cached_tokens: timings.cache_n },
  };
}
