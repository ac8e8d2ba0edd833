import type { HttpFields } from "../http_client.ts";

/** Headers that tell when a quota is whole again, by what they hold. */
const SPANS = ["x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"];
const SECONDS = [
  "x-ratelimit-reset-requests-day",
  "x-ratelimit-reset-tokens-minute",
];
const DATES = [
  "anthropic-ratelimit-requests-reset",
  "anthropic-ratelimit-tokens-reset",
  "anthropic-ratelimit-input-tokens-reset",
  "anthropic-ratelimit-output-tokens-reset",
];
const EPOCH = "x-ratelimit-reset";
/** OpenAI's own, for waits below a second. */
const MILLISECONDS = "retry-after-ms";
/** Below it a number of the epoch form counts seconds, not milliseconds. */
const LEAST_EPOCH_MS = 1e11;

const SPAN =
  /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/;

/**
 * Find out from a provider's own headers when to ask again, where a 429 came
 * without Retry-After. Only quotas that are used up count: OpenAI's and Groq's
 * spans (`6m0s`), Cerebras' seconds, Anthropic's dates, OpenRouter's epoch.
 *
 * @param headers Headers of the answer.
 * @param nowMs Wall-clock time.
 * @returns Seconds as a Retry-After holds them, or null where nothing is said.
 */
export function restOf(headers: HttpFields, nowMs: number): string | null {
  const waits = [
    millisecondsOf(headers.get(MILLISECONDS)),
    ...SPANS.map((name) =>
      isUsedUp(headers, name) ? spanMs(headers.get(name)) : null
    ),
    ...SECONDS.map((name) =>
      isUsedUp(headers, name) ? secondsMs(headers.get(name)) : null
    ),
    ...DATES.map((name) =>
      isUsedUp(headers, name) ? dateMs(headers.get(name), nowMs) : null
    ),
    epochMs(headers.get(EPOCH), nowMs),
  ].filter((ms) => ms !== null && ms >= 0);
  if (waits.length === 0) return null;
  return String(Math.max(1, Math.ceil(Math.max(...waits.map(Number)) / 1_000)));
}

/** Each quota says beside its reset what is left of it. */
function isUsedUp(headers: HttpFields, reset: string): boolean {
  const name = reset.startsWith("anthropic")
    ? reset.replace(/-reset$/, "-remaining")
    : reset.replace("-reset-", "-remaining-");
  const left = headers.get(name);
  return left === null || Number(left) <= 0;
}

function spanMs(text: string | null): number | null {
  const [whole, d, h, m, s, ms] = SPAN.exec(text ?? "") ?? [];
  if (whole === undefined || whole === "") return null;
  const seconds = Number(d ?? 0) * 86_400 + Number(h ?? 0) * 3_600 +
    Number(m ?? 0) * 60 + Number(s ?? 0);
  return seconds * 1_000 + Number(ms ?? 0);
}

function secondsMs(text: string | null): number | null {
  return text !== null && /^\d{1,9}(?:\.\d+)?$/.test(text)
    ? Number(text) * 1_000
    : null;
}

function millisecondsOf(text: string | null): number | null {
  return text !== null && /^\d{1,12}(?:\.\d+)?$/.test(text)
    ? Number(text)
    : null;
}

function dateMs(text: string | null, nowMs: number): number | null {
  const atMs = text === null ? NaN : Date.parse(text);
  return Number.isFinite(atMs) ? atMs - nowMs : null;
}

function epochMs(text: string | null, nowMs: number): number | null {
  if (text === null || !/^\d{10,13}$/.test(text)) return null;
  const value = Number(text);
  return (value < LEAST_EPOCH_MS ? value * 1_000 : value) - nowMs;
}
