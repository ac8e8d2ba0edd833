const MEGABYTE = 1e6;

/**
 * Read how fast something may be.
 *
 * @param text Megabytes a second, such as `50` or `0.5`.
 * @returns Bytes a second, or undefined where the text is no number above 0.
 */
export function parseRate(text: string): number | undefined {
  const bytesPerSecond = /^\d{1,9}(?:\.\d{1,9})?$/.test(text)
    ? Math.round(Number(text) * MEGABYTE)
    : 0;
  return bytesPerSecond > 0 ? bytesPerSecond : undefined;
}
