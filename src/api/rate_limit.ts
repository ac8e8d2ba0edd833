import { Fault } from "../domain/mod.ts";

/** How often one client may ask. */
export interface RateLimit {
  /** Requests a minute; as many may come at once after a minute of silence. */
  readonly requestsPerMinute: number;
}

/** Counts what each client asks for. */
export interface RateLimiter {
  /**
   * Take note of a request.
   *
   * @param client Opaque tag of who asks.
   * @param nowMs Monotonic time in milliseconds.
   * @throws {Fault} `rate_limited` when that client asks too often, with the time to the next request it may make.
   */
  admit(client: string, nowMs: number): void;
}

/** More clients than this at once are not told apart by the minute. */
const MOST_CLIENTS = 10_000;
const MINUTE_MS = 60_000;

/** What a client had at a time. */
interface Bucket {
  /** Time it has saved up; a request costs its share of a minute. */
  readonly savedMs: number;
  readonly atMs: number;
}

/**
 * Make the limiter: a token bucket a client. The client that was quiet longest
 * is forgotten when there are too many.
 *
 * @param limit How often each may ask.
 */
export function createRateLimiter(limit: RateLimit): RateLimiter {
  const most = limit.requestsPerMinute;
  const costMs = MINUTE_MS / most;
  const buckets = new Map<string, Bucket>();
  return {
    admit(client, nowMs) {
      const bucket = buckets.get(client) ?? { savedMs: MINUTE_MS, atMs: nowMs };
      const savedMs = Math.min(
        MINUTE_MS,
        bucket.savedMs + nowMs - bucket.atMs,
      );
      const granted = savedMs >= costMs;
      // Put back at the end: the map's order is that of the last request.
      buckets.delete(client);
      buckets.set(client, {
        savedMs: granted ? savedMs - costMs : savedMs,
        atMs: nowMs,
      });
      if (buckets.size > MOST_CLIENTS) {
        const [quietest] = buckets.keys();
        if (quietest !== undefined) buckets.delete(quietest);
      }
      if (granted) return;
      throw new Fault(
        "rate_limited",
        `This client may ask ${most} times a minute and has done so; wait, or have rateLimit raised in covey.jsonc`,
        { retryAfterMs: costMs - savedMs },
      );
    },
  };
}
