import type { Clock } from "../platform/mod.ts";

/** Progress is told that often, however many pieces come. */
const TELL_EVERY_MS = 250;
/** Work that waits for something says so, lest a client takes it for dead. */
const TELL_ANYWAY_MS = 10_000;

/** Tells of work that goes on for long. Disposing of it ends its reminders. */
export interface ProgressTeller<View> extends Disposable {
  /** Take in how far it is; it is told at once where it is news. */
  say(view: View): void;
}

/**
 * Thin out what is told of work that goes on for long: at most four lines a
 * second, news at once, and the last line again every ten seconds.
 *
 * @param clock Spaces the lines.
 * @param tell Writes a line.
 * @param isNews Whether a view says more than the one before, but for numbers.
 */
export function createProgressTeller<View>(
  clock: Clock,
  tell: (view: View) => void,
  isNews: (view: View, last: View | null) => boolean,
): ProgressTeller<View> {
  let toldMs = -Infinity;
  let last: View | null = null;
  const say = (view: View) => {
    const mustTell = isNews(view, last);
    last = view;
    const nowMs = clock.monotonic();
    if (!mustTell && nowMs - toldMs < TELL_EVERY_MS) return;
    toldMs = nowMs;
    tell(view);
  };
  const reminder = clock.every(TELL_ANYWAY_MS, () => {
    if (last !== null) say(last);
  });
  return { say, [Symbol.dispose]: () => reminder[Symbol.dispose]() };
}
