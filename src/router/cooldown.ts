import { parseRetryAfter } from "../domain/mod.ts";

/** Rest of an engine that said it is too busy and not for how long. */
export const DEFAULT_COOLDOWN_MS = 30_000;
/** No engine rests longer than this, whatever it says. */
export const MAX_COOLDOWN_MS = 3_600_000;

/**
 * Until when an engine rests that answered 429.
 *
 * @param untilMs Until when it was to rest so far (monotonic), or 0. A later answer may extend that, never shorten it.
 * @param retryAfter Its Retry-After header, or null.
 * @param time Monotonic and wall-clock time.
 * @returns The new end of its rest, monotonic.
 */
export function extendCooldown(
  untilMs: number,
  retryAfter: string | null,
  time: { readonly monotonicMs: number; readonly wallMs: number },
): number {
  const restMs = parseRetryAfter(retryAfter, time.wallMs) ??
    DEFAULT_COOLDOWN_MS;
  return Math.max(
    untilMs,
    time.monotonicMs + Math.min(restMs, MAX_COOLDOWN_MS),
  );
}
