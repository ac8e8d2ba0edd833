/** Misses in a row after which a source is held to be absent. */
const MISSES_UNTIL_ABSENT = 3;
/** How long an absent source is left alone. */
const ABSENT_PAUSE_MS = 10 * 60_000;

/** Whether a sensor's source is there. A value, stepped by `stepPresence`. */
export interface Presence {
  readonly misses: number;
  /** Monotonic time before which it is not asked. */
  readonly notBeforeMs: number;
}

/** Of a source nobody has asked yet. */
export const UNASKED: Presence = { misses: 0, notBeforeMs: 0 };

/**
 * Note how asking went: three misses in a row end it for ten minutes, so that
 * what a machine does not have costs it nothing.
 *
 * @param presence As it was.
 * @param seen Whether the source answered.
 * @param nowMs Monotonic time.
 */
export function stepPresence(
  presence: Presence,
  seen: boolean,
  nowMs: number,
): Presence {
  if (seen) return UNASKED;
  const misses = presence.misses + 1;
  return misses < MISSES_UNTIL_ABSENT
    ? { misses, notBeforeMs: 0 }
    : { misses: MISSES_UNTIL_ABSENT - 1, notBeforeMs: nowMs + ABSENT_PAUSE_MS };
}
