const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

/**
 * Read a number that a sensor printed. Whatever is no number, or none that the
 * quantity can have (`-1`, `N/A`, a driver's sentinel), is not known.
 *
 * @param text As printed; space around it is ignored.
 * @param low Least value that is believed.
 * @param high Greatest value that is believed.
 */
export function readNumber(
  text: string | null | undefined,
  low: number,
  high: number,
): number | null {
  const trimmed = text?.trim() ?? "";
  if (trimmed.length > 32 || !NUMBER.test(trimmed)) return null;
  const value = Number(trimmed);
  return value >= low && value <= high ? value : null;
}

/** Highest temperature that is believed, in degrees Celsius. */
const HOTTEST = 150;

/**
 * Read a temperature: zero and less are what broken sensors say.
 *
 * @param text As printed.
 * @param unitsPerDegree 1000 for the kernel's millidegrees.
 * @returns Degrees Celsius, or null.
 */
export function readCelsius(
  text: string | null | undefined,
  unitsPerDegree = 1,
): number | null {
  const value = readNumber(text, 0, HOTTEST * unitsPerDegree);
  return value === null || value === 0 ? null : value / unitsPerDegree;
}

/** The greatest of the numbers that are known, or null. */
export function greatest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}
