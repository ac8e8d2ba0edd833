import { createServer, type IncomingMessage, type Server } from "node:http";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";

/** Answers requests; never rejects. */
export type Handler = (request: Request) => Promise<Response>;

const MAX_CONNECTIONS = 512;
const HEADERS_TIMEOUT_MS = 10_000;
/** Longer than the parent keeps an idle connection, so that it closes first. */
const KEEP_ALIVE_MS = 75_000;

/**
 * Serve on a Unix socket. `node:http` and not `Deno.serve`: while a handler
 * works, `Deno.serve` (2.9.6) does not notice that the client of a request
 * with a body of more than a few hundred bytes has left, and the engine would
 * go on writing for nobody.
 *
 * @param path The socket.
 * @param handler Answers; the request's signal aborts when the client leaves early.
 * @returns Once the socket listens.
 * @throws {Error} When the socket can not be made.
 */
export async function serveSocket(
  path: string,
  handler: Handler,
): Promise<Server> {
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  }, (incoming, outgoing) => {
    respond(incoming, outgoing, handler).catch((problem) =>
      // The connection broke while it was written to.
      outgoing.destroy(problem instanceof Error ? problem : undefined)
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => resolve());
  });
  return server;
}

async function respond(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handler: Handler,
): Promise<void> {
  const left = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) {
      left.abort(new DOMException("The client left", "AbortError"));
    }
  });
  const response = await handler(toRequest(incoming, left.signal));
  if (left.signal.aborted) {
    await response.body?.cancel();
    return;
  }
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    outgoing.end();
    return;
  }
  const reader = response.body.getReader();
  const onLeft = () => void reader.cancel(left.signal.reason);
  left.signal.addEventListener("abort", onLeft, { once: true });
  while (true) {
    const { done, value } = await reader.read();
    if (done) break;
    if (!outgoing.write(value)) await drained(outgoing, left.signal);
  }
  outgoing.end();
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", url = "/", headers } = incoming;
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(new URL(url, "http://engine"), {
    method,
    headers: { authorization: headers.authorization ?? "" },
    signal,
    ...(hasBody
      ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array> }
      : {}),
  });
}

/** Resolves when the client has read what was written, or has left. */
function drained(
  outgoing: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    outgoing.once("drain", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
