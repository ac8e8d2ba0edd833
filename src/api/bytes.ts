import { Fault } from "../domain/mod.ts";

/**
 * Say that a request body is over the limit.
 *
 * @param limitBytes The limit.
 * @returns The fault.
 */
export function tooLarge(limitBytes: number): Fault {
  return new Fault(
    "body_too_large",
    `The request body exceeds the limit of ${limitBytes} bytes (${
      Math.floor(limitBytes / 1024 / 1024)
    } MiB)`,
  );
}

/**
 * Put chunks together.
 *
 * @param chunks The chunks, in order.
 * @param sizeBytes Their size together.
 * @returns One array; the chunk itself where there is just one.
 */
export function join<Buffer extends ArrayBufferLike>(
  chunks: readonly Uint8Array<Buffer>[],
  sizeBytes: number,
): Uint8Array<Buffer> | Uint8Array<ArrayBuffer> {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/**
 * Read a stream to its end.
 *
 * @param stream What to read; it is cancelled once it is too long.
 * @param limitBytes Most bytes to take.
 * @returns The bytes, or undefined when there were more.
 */
export async function readAtMost<Buffer extends ArrayBufferLike>(
  stream: ReadableStream<Uint8Array<Buffer>>,
  limitBytes: number,
): Promise<Uint8Array<Buffer> | Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array<Buffer>[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    sizeBytes += chunk.length;
    if (sizeBytes > limitBytes) return undefined;
    chunks.push(chunk);
  }
  return join(chunks, sizeBytes);
}
