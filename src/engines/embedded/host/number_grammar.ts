/** Bounds of a number in a grammar; null for none. Whole numbers only. */
export interface NumberBounds {
  readonly min: number | null;
  readonly max: number | null;
}

const DIGITS_BEYOND = 15;

/**
 * GBNF for the whole numbers between two bounds, without leading zeros.
 *
 * @param bounds Whole numbers, or null where there is no bound.
 * @returns An expression, or null when no number is between them.
 */
export function integerExpression(bounds: NumberBounds): string | null {
  const { min, max } = bounds;
  if (min !== null && max !== null && min > max) return null;
  const parts: string[] = [];
  if (min === null || min < 0) {
    const most = min === null ? null : -min;
    const least = max !== null && max < 0 ? -max : 1;
    parts.push(`"-" ${positiveRange(least, most)}`);
  }
  if (max === null || max >= 0) {
    const least = min === null ? 0 : Math.max(0, min);
    if (least === 0) parts.push('"0"');
    if (max === null || max >= 1) {
      parts.push(positiveRange(Math.max(1, least), max));
    }
  }
  return `(${parts.join(" | ")})`;
}

/**
 * GBNF for numbers with or without a fraction between two bounds.
 *
 * @param bounds Whole numbers, or null where there is no bound.
 * @returns An expression, or null when no number is between them.
 */
export function numberExpression(bounds: NumberBounds): string | null {
  const { min, max } = bounds;
  const fraction = '("." [0-9]{1,15})?';
  if (min === null && max === null) {
    const whole = integerExpression({ min: 0, max: null });
    return `"-"? ${whole} ${fraction} ([eE] [-+]? [0-9]{1,2})?`;
  }
  if (min !== null && max !== null && min > max) return null;
  const parts: string[] = [];
  // A fraction moves away from zero, so the outermost whole number has none.
  if (max === null || max > 0) {
    const least = min === null ? 0 : Math.max(0, min);
    const whole = integerExpression({
      min: least,
      max: max === null ? null : max - 1,
    });
    if (whole !== null) parts.push(`${whole} ${fraction}`);
  }
  if (max !== null && max >= 0) parts.push(`"${max}" ("." "0"{1,15})?`);
  if (min === null || min < 0) {
    const least = max !== null && max < 0 ? -max : 0;
    const whole = integerExpression({
      min: least,
      max: min === null ? null : -min - 1,
    });
    if (whole !== null) parts.push(`"-" ${whole} ${fraction}`);
    if (min !== null) parts.push(`"${min}" ("." "0"{1,15})?`);
  }
  return `(${parts.join(" | ")})`;
}

/** Whole numbers from `min` ≥ 1 up, `max` null for no bound. */
function positiveRange(min: number, max: number | null): string {
  const low = String(min);
  if (max === null) {
    const longer = `[1-9] [0-9]{${low.length},${
      Math.max(DIGITS_BEYOND, low.length)
    }}`;
    return `(${sameLength(low, "9".repeat(low.length))} | ${longer})`;
  }
  const high = String(max);
  const parts: string[] = [];
  for (let length = low.length; length <= high.length; length++) {
    parts.push(sameLength(
      length === low.length ? low : `1${"0".repeat(length - 1)}`,
      length === high.length ? high : "9".repeat(length),
    ));
  }
  return `(${parts.join(" | ")})`;
}

/** Digit strings of one length between two of that length. */
function sameLength(low: string, high: string): string {
  if (low === high) return `"${low}"`;
  const [first = "", last = ""] = [low[0], high[0]];
  const rest = low.length - 1;
  if (rest === 0) return `[${first}-${last}]`;
  const any = `[0-9]{${rest}}`;
  if (first === last) {
    return `"${first}" (${sameLength(low.slice(1), high.slice(1))})`;
  }
  const lowIsFloor = /^0*$/.test(low.slice(1));
  const highIsCeiling = /^9*$/.test(high.slice(1));
  const from = Number(first) + (lowIsFloor ? 0 : 1);
  const to = Number(last) - (highIsCeiling ? 0 : 1);
  const parts: string[] = [];
  if (!lowIsFloor) {
    parts.push(`"${first}" (${sameLength(low.slice(1), "9".repeat(rest))})`);
  }
  if (from <= to) parts.push(`[${from}-${to}] ${any}`);
  if (!highIsCeiling) {
    parts.push(`"${last}" (${sameLength("0".repeat(rest), high.slice(1))})`);
  }
  return parts.join(" | ");
}
