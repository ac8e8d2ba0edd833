import { errorBody, RequestError } from "./request_error.ts";
import { encodeEvent } from "./sse.ts";

/**
 * End a stream that breaks off with an error event and without the
 * terminator, so that its reader can not take it for complete.
 *
 * @param events The stream.
 * @param signal Whether the client left; then there is nobody to tell.
 */
export async function* streamErrors(
  events: AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  try {
    yield* events;
  } catch (problem) {
    if (signal.aborted) return;
    const error = problem instanceof RequestError
      ? problem
      : new RequestError(500, "The engine failed while it was answering");
    yield encodeEvent(errorBody(error));
  }
}
