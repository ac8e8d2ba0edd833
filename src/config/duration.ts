import { parseDuration } from "../domain/mod.ts";
import { accept, refuse, type Verdict } from "./setting.ts";

/** What `duration` accepts. */
export const DURATION_FORMS =
  'a time such as "30s", "5m", "1h30m" or seconds, 0 for at once, -1 for never';

const LONGEST_MS = 365 * 24 * 3_600_000;

/**
 * Read a time as `parseDuration` does.
 *
 * @param text The spelling.
 * @returns Milliseconds, `Infinity` for never.
 */
export function duration(text: string): Verdict<number> {
  const ms = parseDuration(text);
  if (ms === undefined) return refuse();
  if (ms === Infinity) return accept(ms);
  return ms <= LONGEST_MS
    ? accept(Math.round(ms))
    : refuse("give at most a year (8760h), or -1 for never");
}
