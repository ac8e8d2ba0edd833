/** Room of a read; an answer that fills it gets the larger one. */
const ROOM_BYTES = 16 * 1024;
const LARGE_ROOM_BYTES = 64 * 1024;

/** Reads a body piece by piece. */
export interface BodyReader {
  /** The next piece, in a buffer of its own size; undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
  /** Give the rest up. */
  cancel(reason: unknown): Promise<void>;
  /** Whether the end is known already; absent where only a read can tell. */
  readonly isOver?: boolean;
}

/**
 * Read a body through one buffer. By itself the runtime takes 64 KiB for every
 * read of a response, which a token of 200 bytes then holds for as long as it
 * waits for its reader.
 *
 * @param body The body, of bytes where it is the runtime's own.
 */
export function readBody(body: ReadableStream<Uint8Array>): BodyReader {
  const reader = byteReaderOf(body);
  if (reader === null) return plainReader(body);
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

/** A stream of what a reader reads, which reads no further ahead than it is read. */
export function streamOf(reader: BodyReader): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await reader.read();
      if (piece !== undefined) controller.enqueue(piece);
      if (piece === undefined || reader.isOver === true) controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

function plainReader(body: ReadableStream<Uint8Array>): BodyReader {
  const reader = body.getReader();
  return {
    read: async () => (await reader.read()).value,
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
