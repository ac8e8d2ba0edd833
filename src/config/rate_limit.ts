import { bad, type BadConfig } from "./given.ts";

/** The limit of covey.jsonc, or what is wrong with it. */
export type RateLimitReading =
  | {
    readonly kind: "read";
    readonly rateLimit: { readonly requestsPerMinute: number };
  }
  | BadConfig;

const MOST = 1_000_000;

/**
 * Parse `rateLimit` of covey.jsonc: how often each key, and each address
 * without one, may ask.
 *
 * @param value The parsed JSON.
 */
export function parseRateLimit(value: unknown): RateLimitReading {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const [[name, number] = ["", null], ...more] = Object.entries(value);
    if (
      name === "requestsPerMinute" && more.length === 0 &&
      Number.isInteger(number) && number >= 1 && number <= MOST
    ) return { kind: "read", rateLimit: { requestsPerMinute: number } };
  }
  return bad(
    "covey.jsonc",
    `covey.jsonc "rateLimit" is not accepted; give {"requestsPerMinute": a whole number from 1 to ${MOST}}`,
  );
}
