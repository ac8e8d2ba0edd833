import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../platform/mod.ts";

/** Body bytes held for a handler that reads slowly, before the socket is no longer read. */
const HELD_BYTES = 64 * 1024;

/**
 * Make what handlers take of what `node:http` brings.
 *
 * @param message The request as it came.
 * @param origin Scheme, address and port it came to, for example `http://192.0.2.1:11411`; the name that the caller used stands in its Host header alone.
 * @param signal Aborts when the client left.
 * @returns The request, or null when it is none that a handler could read.
 */
export function requestOf(
  message: IncomingMessage,
  origin: string,
  signal: AbortSignal,
): Request | null {
  const target = message.url ?? "";
  const path = target.startsWith("/") ? target : pathOf(target);
  if (path === null) return null;
  try {
    const headers = new Headers();
    for (let at = 0; at + 1 < message.rawHeaders.length; at += 2) {
      headers.append(
        message.rawHeaders[at] ?? "",
        message.rawHeaders[at + 1] ?? "",
      );
    }
    const method = message.method ?? "GET";
    const body = hasBody(message) && method !== "GET" && method !== "HEAD"
      ? bodyOf(message)
      : null;
    return new Request(`${origin}${path}`, { method, headers, body, signal });
  } catch (error) {
    // A header, a method or a path that the web's classes refuse.
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** The path of a request's absolute form (RFC 9112, 3.2.2). */
function pathOf(target: string): string | null {
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return null;
  const { pathname, search } = new URL(target);
  return `${pathname}${search}`;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined ||
    Number(headers["content-length"] ?? 0) > 0;
}

function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array> {
  let over = false;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      message.on("data", (chunk: Uint8Array) => {
        if (over) return;
        controller.enqueue(new Uint8Array(chunk));
        if ((controller.desiredSize ?? 0) <= 0) message.pause();
      });
      message.on("end", () => {
        if (!over) controller.close();
        over = true;
      });
      const broke = () => {
        if (!over) controller.error(new TypeError("The request broke off"));
        over = true;
      };
      message.on("error", broke);
      message.on("close", broke);
      message.pause();
    },
    pull() {
      message.resume();
    },
    cancel() {
      over = true;
      // What still comes is thrown away, until the answer is out and the connection ends.
      message.resume();
    },
  }, { highWaterMark: HELD_BYTES, size: (chunk) => chunk?.byteLength ?? 0 });
}

/**
 * Write an answer, no faster than its reader takes it.
 *
 * @param answer What a handler returned; its body is used up, or cancelled when the client leaves.
 * @param response Where it goes.
 * @param stall How long a client may take nothing at all before it is cut off.
 * @param left Aborts when the client left.
 */
export async function sendAnswer(
  answer: Response,
  response: ServerResponse,
  stall: { readonly clock: Clock; readonly ms: number },
  left: AbortSignal,
): Promise<void> {
  const headers: Record<string, string[]> = {};
  for (const [name, value] of answer.headers) {
    (headers[name] ??= []).push(value);
  }
  // Who was answered before his body was read may go on sending it: not here.
  if (!response.req.complete) headers["connection"] = ["close"];
  if (left.aborted) {
    await answer.body?.cancel(left.reason);
    return;
  }
  response.writeHead(answer.status, headers);
  if (answer.body === null) {
    response.end();
    return;
  }
  // The head goes out at once: events may follow it much later.
  response.flushHeaders();
  const reader = answer.body.getReader();
  const leave = () => {
    reader.cancel(left.reason).catch(() => {
      // The body broke by itself at the same moment; the read tells.
    });
  };
  left.addEventListener("abort", leave, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (left.aborted) return;
      if (done) break;
      if (!response.write(value)) await drained(response, stall, left);
    }
    response.end();
  } catch {
    // The head is out, so that only a torn connection can say that it broke.
    response.destroy();
  } finally {
    left.removeEventListener("abort", leave);
  }
}

/** Wait until the client has taken what was written, or left, or took too long. */
async function drained(
  response: ServerResponse,
  { clock, ms }: { readonly clock: Clock; readonly ms: number },
  left: AbortSignal,
): Promise<void> {
  if (left.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  using _stall = clock.after(ms, () => response.destroy());
  response.once("drain", resolve);
  left.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  response.removeListener("drain", resolve);
}
