import { type Clock, deadlineOn, sleepOn } from "./clock.ts";
import { TimerQueue } from "./timer_queue.ts";

/** Longest delay a timer of the runtime takes before it wraps around. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock. */
export function createSystemClock(): Clock {
  const queue = new TimerQueue({
    now: () => performance.now(),
    set(ms, call) {
      const handle = setTimeout(call, Math.min(ms, LONGEST_TIMER_MS));
      return () => clearTimeout(handle);
    },
  });
  const timer = {
    after: (ms: number, call: () => void) => queue.add(ms, call, false),
  };
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after: timer.after,
    every: (ms, call) => queue.add(ms, call, true),
    sleep: (ms, signal) => sleepOn(timer, ms, signal),
    deadline: (ms, parent) => deadlineOn(timer, ms, parent),
  };
}
