/**
 * Write for how long something lasts: to the second, the minute where it is
 * long, the tenth of an hour where it is very long.
 *
 * @param ms Milliseconds.
 */
export function formatDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 6) / 10} h`;
}
