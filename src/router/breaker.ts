/**
 * Seed 2's circuit breaker as values and pure steps: five tracked errors within
 * a minute open it for 30 s, then one probe at a time may pass, and two of them
 * in a row that succeed close it.
 */
export type Breaker =
  | {
    readonly state: "closed";
    /** Monotonic times of the errors of the last minute. */
    readonly errorsAtMs: readonly number[];
  }
  | { readonly state: "open"; readonly untilMs: number }
  | {
    readonly state: "half_open";
    readonly successes: number;
    /** Number of the probe that is out, or null. */
    readonly probe: number | null;
    readonly lastProbe: number;
  };

/** How an attempt ended, as the breaker sees it; `neutral` tells nothing of the engine. */
export type BreakerOutcome = "success" | "error" | "neutral";

/** A breaker that has seen nothing. */
export const CLOSED_BREAKER: Breaker = { state: "closed", errorsAtMs: [] };

/** Errors within a minute that open it. */
export const ERRORS_TO_OPEN = 5;
/** How long an error counts. */
export const ERROR_WINDOW_MS = 60_000;
const OPEN_MS = 30_000;
const SUCCESSES_TO_CLOSE = 2;

/**
 * Errors that a closed breaker holds against its engine.
 *
 * @param breaker The breaker.
 * @param nowMs Monotonic time.
 */
export function recentErrors(breaker: Breaker, nowMs: number): number {
  if (breaker.state !== "closed") return 0;
  return breaker.errorsAtMs.filter((atMs) => atMs > nowMs - ERROR_WINDOW_MS)
    .length;
}

/**
 * Whether an attempt may pass.
 *
 * @param breaker The breaker.
 * @param nowMs Monotonic time.
 */
export function breakerAdmits(breaker: Breaker, nowMs: number): boolean {
  switch (breaker.state) {
    case "closed":
      return true;
    case "open":
      return nowMs >= breaker.untilMs;
    case "half_open":
      return breaker.probe === null;
    default: {
      const never: never = breaker;
      return never;
    }
  }
}

/**
 * Let an attempt pass that `breakerAdmits` let through.
 *
 * @param breaker The breaker before.
 * @returns The breaker after, and the attempt's number if it is a probe.
 */
export function passBreaker(
  breaker: Breaker,
): { readonly breaker: Breaker; readonly probe: number | null } {
  if (breaker.state === "closed") return { breaker, probe: null };
  const half = breaker.state === "open"
    ? { successes: 0, lastProbe: 0 }
    : breaker;
  const probe = half.lastProbe + 1;
  return {
    breaker: {
      state: "half_open",
      successes: half.successes,
      probe,
      lastProbe: probe,
    },
    probe,
  };
}

/**
 * Take in how an attempt ended. What began before the breaker opened decides
 * nothing any more: only the probe that is out does.
 *
 * @param breaker The breaker before.
 * @param probe What `passBreaker` gave the attempt.
 * @param outcome How it ended.
 * @param nowMs Monotonic time.
 * @returns The breaker after.
 */
export function settleBreaker(
  breaker: Breaker,
  probe: number | null,
  outcome: BreakerOutcome,
  nowMs: number,
): Breaker {
  switch (breaker.state) {
    case "closed": {
      if (outcome !== "error" || probe !== null) return breaker;
      const recent = breaker.errorsAtMs.filter((atMs) =>
        atMs > nowMs - ERROR_WINDOW_MS
      );
      return recent.length + 1 >= ERRORS_TO_OPEN
        ? { state: "open", untilMs: nowMs + OPEN_MS }
        : { state: "closed", errorsAtMs: [...recent, nowMs] };
    }
    case "open":
      return breaker;
    case "half_open": {
      if (probe === null || probe !== breaker.probe) return breaker;
      if (outcome === "error") {
        return { state: "open", untilMs: nowMs + OPEN_MS };
      }
      const successes = breaker.successes + (outcome === "success" ? 1 : 0);
      return successes >= SUCCESSES_TO_CLOSE
        ? CLOSED_BREAKER
        : { ...breaker, successes, probe: null };
    }
    default: {
      const never: never = breaker;
      return never;
    }
  }
}
