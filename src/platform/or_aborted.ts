/**
 * Wait for a promise, or until a signal's reason ends the wait: whoever works
 * at it hears of the signal by itself, and may take its time.
 *
 * @param promise What is waited for; its own end changes nothing once the wait is over.
 * @param signal Ends the wait.
 * @throws The signal's reason, or what the promise was rejected with.
 */
export async function orAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([aborted.promise, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
