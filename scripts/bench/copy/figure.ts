/** One line of a benchmark's table. */
export interface Figure {
  readonly what: string;
  /** What is to be reached, in words; "" for what only stands beside. */
  readonly reach: string;
  readonly measured: number;
  readonly unit: string;
  /** Whether it was; null where nothing is to be reached. */
  readonly reached: boolean | null;
}

/**
 * A figure that is to be reached.
 *
 * @param what What was measured.
 * @param measured The figure.
 * @param unit Its unit, "" for a ratio.
 * @param limit The least or the most that will do.
 */
export function goal(
  what: string,
  measured: number,
  unit: string,
  limit: { readonly least: number } | { readonly most: number },
): Figure {
  const isLeast = "least" in limit;
  const bound = isLeast ? limit.least : limit.most;
  return {
    what,
    reach: `${isLeast ? "≥" : "≤"} ${bound}${unit === "" ? "" : ` ${unit}`}`,
    measured: rounded(measured),
    unit,
    reached: isLeast ? measured >= bound : measured <= bound,
  };
}

/** A figure that stands beside others. */
export function beside(what: string, measured: number, unit: string): Figure {
  return { what, reach: "", measured: rounded(measured), unit, reached: null };
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
