import type { JsonValue } from "../../../domain/mod.ts";

const encoder = new TextEncoder();

/**
 * Encode one server-sent event.
 *
 * @param data What the event carries, written as JSON.
 * @returns Its bytes.
 */
export function encodeEvent(data: JsonValue): Uint8Array<ArrayBuffer> {
  return encoder.encode(`data: ${JSON.stringify(data)}\n\n`);
}

/** The event that ends OpenAI's streams. */
export const DONE_EVENT = "data: [DONE]\n\n";

/** Events that wait for a slow reader; beyond them the engine waits for it too. */
const MAX_WAITING_EVENTS = 4096;

/**
 * Answer with a stream of events, each sent as soon as it is there.
 *
 * @param events What to send, each with its blank line; its `finally` runs when the client leaves.
 * @param onCancel Called when the client leaves, before the events are told to end.
 * @returns The response.
 */
export function eventStream(
  events: AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>,
  onCancel: () => void,
): Response {
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const next = await events.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      onCancel();
      await events.return();
    },
  }, { highWaterMark: MAX_WAITING_EVENTS });
  return new Response(body, {
    headers: { "content-type": "text/event-stream" },
  });
}

/** @returns Bytes of the event that ends a stream. */
export function encodeDone(): Uint8Array<ArrayBuffer> {
  return encoder.encode(DONE_EVENT);
}
