import { Fault } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { tooLarge } from "./bytes.ts";
import { decompress } from "./content_encoding.ts";

/** Bounds on a request body. */
export interface BodyBounds {
  /** Most bytes of a body, both as sent and once it is decompressed. */
  readonly limitBytes: number;
  /** Longest wait between two reads, in milliseconds. */
  readonly idleMs: number;
  /** Longest time for the whole body, in milliseconds. */
  readonly totalMs: number;
}

/** Bounds unless told otherwise: 64 MiB, 60 s of silence, 300 s in all. */
export const BODY_BOUNDS: BodyBounds = {
  limitBytes: 64 * 1024 * 1024,
  idleMs: 60_000,
  totalMs: 300_000,
};

/** Room that a body gets to begin with. */
const LEAST_BYTES = 4_096;

/**
 * Read a request's whole body, decompressed (REQ-03).
 *
 * @param request The request; its body is used up or cancelled.
 * @param bounds What is too much and too slow.
 * @param clock Measures the deadlines.
 * @returns The body's bytes, empty where there was none.
 * @throws {Fault} `body_too_large`, `body_timeout`, `unsupported_media_type` or `invalid_request`.
 */
export async function readBody(
  request: Request,
  bounds: BodyBounds,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > bounds.limitBytes) {
    await request.body?.cancel();
    throw tooLarge(bounds.limitBytes);
  }
  if (request.body === null) return new Uint8Array();
  const coding = (request.headers.get("content-encoding") ?? "identity")
    .trim().toLowerCase();
  const sent = await collect(request.body, bounds, clock);
  return await decompress(coding, sent, bounds.limitBytes);
}

async function collect(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  bounds: BodyBounds,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  // Chunks are copied, not kept: one of a single byte may hold on to a buffer of 64 KiB.
  let whole = new Uint8Array(LEAST_BYTES);
  let sizeBytes = 0;
  let expired: Fault | undefined;
  // Cancelling the reader is what ends a read that waits.
  const expire = (ms: number, what: string) => {
    expired = new Fault(
      "body_timeout",
      `The request body ${what} within ${ms / 1000} s`,
    );
    reader.cancel(expired).catch(() => {
      // The body broke by itself at the same moment; the read tells.
    });
  };
  using _total = clock.after(
    bounds.totalMs,
    () => expire(bounds.totalMs, "did not arrive"),
  );
  try {
    for (;;) {
      using _idle = clock.after(
        bounds.idleMs,
        () => expire(bounds.idleMs, "did not go on"),
      );
      const { done, value } = await reader.read();
      if (expired !== undefined) throw expired;
      if (done) break;
      const startBytes = sizeBytes;
      sizeBytes += value.length;
      if (sizeBytes > bounds.limitBytes) throw tooLarge(bounds.limitBytes);
      if (sizeBytes > whole.length) {
        const roomBytes = Math.max(sizeBytes, whole.length * 2);
        whole = new Uint8Array(whole.buffer.transfer(roomBytes));
      }
      whole.set(value, startBytes);
    }
  } catch (error) {
    if (error instanceof Fault) {
      await reader.cancel(error);
      throw error;
    }
    throw new Fault(
      "invalid_request",
      "The request body broke off before its end",
      { cause: error },
    );
  }
  return whole.subarray(0, sizeBytes);
}
