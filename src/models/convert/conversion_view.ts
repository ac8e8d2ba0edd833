import type { ConversionView } from "../../domain/mod.ts";

/**
 * Say how far a conversion is.
 *
 * @param stage What is done now.
 * @param doneBytes What is made by now.
 * @param totalBytes What is to be made; 0 until it is known.
 * @param elapsedMs Time since the first byte was made, rests included; 0 for none.
 */
export function viewOf(
  stage: ConversionView["stage"],
  doneBytes = 0,
  totalBytes = 0,
  elapsedMs = 0,
): ConversionView {
  const rate = elapsedMs > 0 && doneBytes > 0 ? doneBytes / elapsedMs : null;
  return {
    stage,
    doneBytes,
    totalBytes,
    bytesPerSecond: rate === null ? null : Math.round(rate * 1000),
    remainingMs: rate === null
      ? null
      : Math.round((totalBytes - doneBytes) / rate),
  };
}
