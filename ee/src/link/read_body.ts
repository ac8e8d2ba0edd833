import type { IncomingMessage } from "node:http";
import type { Clock } from "@covey/core/platform";

/** Limits of one body. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** Longest time until the whole of it is here. */
  readonly limitMs: number;
}

/** A body, or why there is none. */
export type BodyResult =
  | { readonly kind: "body"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "too_large" }
  | { readonly kind: "too_late" }
  | { readonly kind: "broken" };

/**
 * Read a request's body within its limits. What is over them is not read: the
 * caller closes the connection.
 */
export function readBody(
  request: IncomingMessage,
  { maxBytes, limitMs }: BodyLimits,
  clock: Clock,
): Promise<BodyResult> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) {
    return Promise.resolve({ kind: "too_large" });
  }
  return new Promise((resolve) => {
    const pieces: Uint8Array[] = [];
    let size = 0;
    const timer = clock.after(limitMs, () => settle({ kind: "too_late" }));
    const settle = (result: BodyResult) => {
      timer[Symbol.dispose]();
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("close", onBroken);
      request.pause();
      resolve(result);
    };
    const onData = (piece: Uint8Array) => {
      size += piece.length;
      if (size > maxBytes) settle({ kind: "too_large" });
      else pieces.push(piece);
    };
    const onEnd = () => settle({ kind: "body", bytes: join(pieces, size) });
    const onBroken = () => settle({ kind: "broken" });
    request.on("data", onData);
    request.once("end", onEnd);
    request.once("close", onBroken);
    // Heard for good: after the body, too, an unheard error ends the process.
    request.on("error", onBroken);
  });
}

function join(
  pieces: readonly Uint8Array[],
  size: number,
): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
