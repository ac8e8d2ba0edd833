import { accept, refuse, type Verdict } from "./setting.ts";

/** What `duration` accepts. */
export const DURATION_FORMS =
  'a time such as "30s", "5m", "1h30m" or seconds, 0 for at once, -1 for never';

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
const PART = /([0-9]{1,12}(?:\.[0-9]{1,9})?)(ms|s|m|h)/g;
const WHOLE = /^(?:[0-9]{1,12}(?:\.[0-9]{1,9})?(?:ms|s|m|h))+$/;
const SECONDS = /^[0-9]{1,12}(?:\.[0-9]{1,9})?$/;
const LONGEST_MS = 365 * 24 * 3_600_000;

/**
 * Read a time in the spellings of Ollama's `keep_alive`: Go's durations, or
 * plain seconds, and anything negative for "never".
 *
 * @param text The spelling.
 * @returns Milliseconds, `Infinity` for never.
 */
export function duration(text: string): Verdict<number> {
  if (text.startsWith("-")) {
    const rest = text.slice(1);
    return SECONDS.test(rest) || WHOLE.test(rest) ? accept(Infinity) : refuse();
  }
  let sumMs = 0;
  if (SECONDS.test(text)) sumMs = Number(text) * 1_000;
  else if (WHOLE.test(text)) {
    for (const [, amount, unit] of text.matchAll(PART)) {
      sumMs += Number(amount) * (UNIT_MS[unit ?? ""] ?? NaN);
    }
  } else return refuse();
  return sumMs <= LONGEST_MS
    ? accept(Math.round(sumMs))
    : refuse("give at most a year (8760h), or -1 for never");
}
