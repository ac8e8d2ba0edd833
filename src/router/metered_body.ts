/** How a body came to its end. */
export type BodyEnd = "ended" | "failed" | "cancelled";

/** What a metered body tells. */
export interface BodyEvents {
  piece(bytes: Uint8Array): void;
  /** The source is done, for whatever reason. Called once; after a cancel, when the source has taken it. */
  over(end: BodyEnd): void;
}

/** Read ahead of the consumer by this much: more than most answers have. */
const READ_AHEAD_BYTES = 4 * 1024 * 1024;

/**
 * Watch a body on its way without touching it. Reads ahead within a bound, so
 * that an engine's slot is free when the engine is done, not when a slow client
 * has read it all.
 *
 * @param body The engine's bytes.
 * @param signal Aborting it ends the body with the signal's reason, also when nobody reads.
 * @param events Whom to tell.
 * @returns The same bytes.
 */
export function meterBody(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  events: BodyEvents,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let isOver = false;
  let fail: (reason: unknown) => void = () => {};
  /** False when it was over before. */
  function finish(): boolean {
    if (isOver) return false;
    isOver = true;
    signal.removeEventListener("abort", onAbort);
    return true;
  }
  async function stop(reason: unknown): Promise<void> {
    if (!finish()) return;
    try {
      await reader.cancel(reason);
    } finally {
      events.over("cancelled");
    }
  }
  function onAbort() {
    fail(signal.reason);
    // What a source says to its cancel concerns nobody who has left.
    stop(signal.reason).then(undefined, () => {});
  }
  const metered = new ReadableStream<Uint8Array>({
    start(controller) {
      fail = (reason) => controller.error(reason);
    },
    async pull(controller) {
      try {
        const { value, done } = await reader.read();
        if (isOver) return;
        if (!done) {
          events.piece(value);
          controller.enqueue(value);
        } else if (finish()) {
          events.over("ended");
          controller.close();
        }
      } catch (thrown) {
        if (!finish()) return;
        events.over("failed");
        controller.error(thrown);
      }
    },
    cancel: stop,
  }, new ByteLengthQueuingStrategy({ highWaterMark: READ_AHEAD_BYTES }));
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return metered;
}
