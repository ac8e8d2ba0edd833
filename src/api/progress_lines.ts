import { faultOf, type JsonObject, type Log } from "../domain/mod.ts";

/** Lines a client may be behind before progress is left out for it. */
const MOST_WAITING = 16;

/**
 * Answer with JSON line by line while work goes on: its progress, then its
 * outcome, or `{"error": …, "code": …}` where it failed. A client that left
 * ends the work.
 *
 * @param work Does it; `tell` writes a line of progress.
 * @param signal Aborts when the client left.
 * @param log Told of failures that a caller is not told of.
 */
export function progressResponse(
  work: (
    tell: (line: JsonObject) => void,
    signal: AbortSignal,
  ) => Promise<JsonObject>,
  signal: AbortSignal,
  log: Log,
): Response {
  const left = new AbortController();
  const ends = AbortSignal.any([signal, left.signal]);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async start(controller) {
      const write = (line: JsonObject) =>
        controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
      const tell = (line: JsonObject) => {
        if ((controller.desiredSize ?? 0) > 0 && !ends.aborted) write(line);
      };
      try {
        const outcome = await work(tell, ends);
        if (!left.signal.aborted) write(outcome);
      } catch (error) {
        const { code, message, cause } = faultOf(error);
        if (code === "internal" && !ends.aborted) {
          log.error("Failed to do what an operator asked", {
            cause: cause instanceof Error ? cause.message : String(cause),
          });
        }
        if (!left.signal.aborted) write({ error: message, code });
      }
      if (!left.signal.aborted) controller.close();
    },
    cancel: () => left.abort(),
  }, { highWaterMark: MOST_WAITING });
  return new Response(body, {
    headers: {
      "content-type": "application/x-ndjson",
      "cache-control": "no-store",
    },
  });
}
