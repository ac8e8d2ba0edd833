const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/**
 * Read how long something lasts.
 *
 * @param text For example `90s`, `10m` or `2h`.
 * @returns Milliseconds, or undefined when the text is none.
 */
export function parseLife(text: string): number | undefined {
  const found = /^(\d{1,6})([smh])$/.exec(text.trim().toLowerCase());
  const unit = UNIT_MS[found?.[2] ?? ""];
  return unit === undefined ? undefined : Number(found?.[1]) * unit;
}

/**
 * Write how long something lasts.
 *
 * @param ms Milliseconds.
 */
export function formatLife(ms: number): string {
  for (const [unit, unitMs] of [["h", 3_600_000], ["min", 60_000]] as const) {
    if (ms >= unitMs && ms % unitMs === 0) return `${ms / unitMs} ${unit}`;
  }
  return `${Math.round(ms / 1000)} s`;
}
