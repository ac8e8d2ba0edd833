import type { Availability } from "../../domain/mod.ts";

/** A server that can not be asked is asked again soon, then ever more seldom. */
const RETRY_MS: readonly number[] = [1_000, 2_000, 5_000, 10_000, 20_000];
const LONGEST_RETRY_MS = 30_000;
/** So many failures in a row and its models are no longer offered. */
const MOST_FAILURES = 3;

/** How an upstream's refreshes went. */
export type RefreshStanding =
  | { readonly state: "unseen" }
  | { readonly state: "seen" }
  | {
    readonly state: "failing";
    /** In a row. */
    readonly failures: number;
    /** A clause that follows the server's name. */
    readonly reason: string;
    /** Whether its models were ever listed. */
    readonly wasSeen: boolean;
  };

/**
 * Take in a refresh that failed.
 *
 * @param before How the ones before went.
 * @param reason Why, as a clause that follows the server's name.
 */
export function failedRefresh(
  before: RefreshStanding,
  reason: string,
): RefreshStanding {
  const failures = before.state === "failing" ? before.failures + 1 : 1;
  const wasSeen = before.state === "failing"
    ? before.wasSeen
    : before.state === "seen";
  return { state: "failing", failures, reason, wasSeen };
}

/**
 * Tell whether a server may be asked: a single failed refresh drops no model,
 * a third one in a row does.
 *
 * @param id Its name.
 * @param standing How its refreshes went.
 */
export function availabilityOf(
  id: string,
  standing: RefreshStanding,
): Availability {
  switch (standing.state) {
    case "unseen":
      return { kind: "unavailable", reason: `${id} has not answered yet` };
    case "seen":
      return { kind: "available" };
    case "failing": {
      const reason = `${id} ${standing.reason}`;
      return standing.wasSeen && standing.failures < MOST_FAILURES
        ? { kind: "degraded", reason }
        : { kind: "unavailable", reason };
    }
    default: {
      const never: never = standing;
      return never;
    }
  }
}

/**
 * When to refresh again.
 *
 * @param standing How the refreshes went.
 * @param everyMs Time between refreshes that succeed.
 */
export function nextRefreshMs(
  standing: RefreshStanding,
  everyMs: number,
): number {
  return standing.state === "failing"
    ? RETRY_MS[standing.failures - 1] ?? LONGEST_RETRY_MS
    : everyMs;
}
