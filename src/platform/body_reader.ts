import { type PieceSource, sourceOf } from "../domain/mod.ts";

/** Room of a read; an answer that fills it gets the larger one. */
const ROOM_BYTES = 16 * 1024;
const LARGE_ROOM_BYTES = 64 * 1024;

/**
 * Read a body through one buffer. By itself the runtime takes 64 KiB for every
 * read of a response, which a token of 200 bytes then holds for as long as it
 * waits for its reader.
 *
 * @param body The body, of bytes where it is the runtime's own.
 */
export function readBody(body: ReadableStream<Uint8Array>): PieceSource {
  const reader = byteReaderOf(body);
  if (reader === null) return sourceOf(body);
  let room = new ArrayBuffer(ROOM_BYTES);
  return {
    async read() {
      const { value, done } = await reader.read(new Uint8Array(room));
      if (done || value === undefined) return undefined;
      room = value.length === value.buffer.byteLength
        ? new ArrayBuffer(LARGE_ROOM_BYTES)
        : value.buffer;
      return value.slice();
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

function byteReaderOf(
  body: ReadableStream<Uint8Array>,
): ReadableStreamBYOBReader | null {
  try {
    return body.getReader({ mode: "byob" });
  } catch (error) {
    // A stream of chunks, as a test's or a translated one: they have their sizes.
    if (error instanceof TypeError) return null;
    throw error;
  }
}
