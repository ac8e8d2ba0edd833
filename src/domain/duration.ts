const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  "µs": 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
const AMOUNT = "[0-9]{1,12}(?:\\.[0-9]{1,9})?";
const UNIT = "(?:ns|us|µs|ms|s|m|h)";
const PART = new RegExp(`(${AMOUNT})(${UNIT})`, "g");
const WHOLE = new RegExp(`^(?:${AMOUNT}${UNIT})+$`);
const SECONDS = new RegExp(`^${AMOUNT}$`);

/**
 * Read a time in the spellings of Ollama's `keep_alive`: Go's durations such as
 * `1h30m`, or plain seconds, and anything negative for "never".
 *
 * @param text The spelling.
 * @returns Milliseconds, `Infinity` for never; undefined where it is none.
 */
export function parseDuration(text: string): number | undefined {
  if (text.startsWith("-")) {
    const rest = text.slice(1);
    return SECONDS.test(rest) || WHOLE.test(rest) ? Infinity : undefined;
  }
  if (SECONDS.test(text)) return Number(text) * 1_000;
  if (!WHOLE.test(text)) return undefined;
  let sumMs = 0;
  for (const [, amount, unit] of text.matchAll(PART)) {
    sumMs += Number(amount) * (UNIT_MS[unit ?? ""] ?? NaN);
  }
  return sumMs;
}
