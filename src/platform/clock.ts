/** A signal that fires when its time is up; disposing it frees the timer. */
export interface Deadline extends Disposable {
  /** Aborts when the time is up. */
  readonly signal: AbortSignal;
}

/** The only source of time. Durations come from `monotonic`, timestamps from `now`. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch; never compared between machines. */
  now(): number;
  /** Milliseconds that never run backwards, from an arbitrary start. */
  monotonic(): number;
  /**
   * Wait.
   *
   * @param ms How long.
   * @param signal Aborting it ends the wait with the signal's reason.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Call back once, later.
   *
   * @returns Disposing it takes the call back.
   */
  after(ms: number, call: () => void): Disposable;
  /**
   * Call back again and again.
   *
   * @returns Disposing it ends that.
   */
  every(ms: number, call: () => void): Disposable;
  /**
   * A signal that aborts with a `TimeoutError` after `ms`, or with its parent.
   *
   * @returns Dispose it once the wait is over.
   */
  deadline(ms: number, parent?: AbortSignal): Deadline;
}

/** What a `Clock` needs to build its waiting methods from. */
interface Timer {
  after(ms: number, call: () => void): Disposable;
}

/**
 * Wait on a timer.
 *
 * @param timer Whose `after` to use.
 * @param ms How long.
 * @param signal Aborting it ends the wait with the signal's reason.
 */
export function sleepOn(
  timer: Timer,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      handle[Symbol.dispose]();
      reject(signal?.reason);
    };
    const handle = timer.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/**
 * Make a deadline on a timer.
 *
 * @param timer Whose `after` to use.
 * @param ms How long.
 * @param parent Aborting it aborts the deadline's signal with the same reason.
 * @returns The deadline.
 */
export function deadlineOn(
  timer: Timer,
  ms: number,
  parent?: AbortSignal,
): Deadline {
  const controller = new AbortController();
  const onParent = () => end(parent?.reason);
  const handle = timer.after(
    ms,
    () => end(new DOMException(`No result within ${ms} ms`, "TimeoutError")),
  );
  function dispose() {
    handle[Symbol.dispose]();
    parent?.removeEventListener("abort", onParent);
  }
  function end(reason: unknown) {
    dispose();
    controller.abort(reason);
  }
  if (parent?.aborted) end(parent.reason);
  else parent?.addEventListener("abort", onParent, { once: true });
  return { signal: controller.signal, [Symbol.dispose]: dispose };
}
