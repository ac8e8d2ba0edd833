import { type Clock, deadlineOn, sleepOn } from "./clock.ts";

/** Longest delay a timer of the runtime takes before it wraps around. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock. */
export function createSystemClock(): Clock {
  const timer = {
    after(ms: number, call: () => void): Disposable {
      const handle = setTimeout(call, Math.min(ms, LONGEST_TIMER_MS));
      return { [Symbol.dispose]: () => clearTimeout(handle) };
    },
  };
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after: timer.after,
    every(ms, call) {
      const handle = setInterval(call, Math.min(ms, LONGEST_TIMER_MS));
      return { [Symbol.dispose]: () => clearInterval(handle) };
    },
    sleep: (ms, signal) => sleepOn(timer, ms, signal),
    deadline: (ms, parent) => deadlineOn(timer, ms, parent),
  };
}
