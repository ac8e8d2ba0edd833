import { Fault } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { tooLarge } from "./bytes.ts";
import { decompress } from "./content_encoding.ts";
import type { HeadFields } from "./head_fields.ts";

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
/** A body of up to this size, if it says so, is read in one go and has one deadline. */
const SMALL_BYTES = 64 * 1024;

/**
 * Read a request's whole body, decompressed (REQ-03).
 *
 * @param request The request; its body is used up or cancelled.
 * @param bounds What is too much and too slow.
 * @param clock Measures the deadlines.
 * @param fields The request's head, where somebody has read it already.
 * @returns The body's bytes, empty where there was none.
 * @throws {Fault} `body_too_large`, `body_timeout`, `unsupported_media_type` or `invalid_request`.
 */
export async function readBody(
  request: Request,
  bounds: BodyBounds,
  clock: Clock,
  fields: HeadFields = new Map(request.headers),
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(fields.get("content-length") ?? "0");
  if (declared > bounds.limitBytes) {
    await request.body?.cancel();
    throw tooLarge(bounds.limitBytes);
  }
  const bytes = declared > 0 && declared <= SMALL_BYTES &&
      !fields.has("transfer-encoding")
    ? await takeSmall(request, bounds, clock)
    : await collect(request.body, bounds, clock);
  const coding = fields.get("content-encoding");
  return coding === undefined ? bytes : await decompress(
    coding.trim().toLowerCase(),
    bytes,
    bounds.limitBytes,
  );
}

/**
 * The runtime has a short way for a body that is never looked at as a stream:
 * that one gives each body two buffers of 64 KiB, which as garbage doubles what
 * a busy node holds in memory. No client needs longer for so little than it may
 * be silent.
 */
async function takeSmall(
  request: Request,
  { idleMs, limitBytes }: BodyBounds,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  const { promise, resolve, reject } = Promise.withResolvers<
    Uint8Array<ArrayBuffer>
  >();
  using _deadline = clock.after(idleMs, () => reject(tooSlow(idleMs, ARRIVE)));
  request.bytes().then(resolve, (error) => reject(brokenOff(error)));
  const bytes = await promise;
  if (bytes.length > limitBytes) throw tooLarge(limitBytes);
  return bytes;
}

async function collect(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  bounds: BodyBounds,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  // Chunks are copied, not kept: one of a single byte may hold on to a buffer of 64 KiB.
  let whole = new Uint8Array(LEAST_BYTES);
  let sizeBytes = 0;
  let expired: Fault | undefined;
  // Cancelling the reader is what ends a read that waits.
  const expire = (ms: number, what: string) => {
    expired = tooSlow(ms, what);
    reader.cancel(expired).catch(() => {
      // The body broke by itself at the same moment; the read tells.
    });
  };
  using _total = clock.after(
    bounds.totalMs,
    () => expire(bounds.totalMs, ARRIVE),
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
    throw brokenOff(error);
  }
  return whole.subarray(0, sizeBytes);
}

const ARRIVE = "did not arrive";

function tooSlow(ms: number, what: string): Fault {
  return new Fault(
    "body_timeout",
    `The request body ${what} within ${ms / 1000} s`,
  );
}

function brokenOff(cause: unknown): Fault {
  return new Fault(
    "invalid_request",
    "The request body broke off before its end",
    { cause },
  );
}
