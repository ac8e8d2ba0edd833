/**
 * Wait for a promise, or until a signal's reason ends the wait.
 *
 * @param promise What is waited for; its own end changes nothing once the wait is over.
 * @param signal Ends the wait.
 * @throws The signal's reason, or what the promise was rejected with.
 */
export async function orAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
