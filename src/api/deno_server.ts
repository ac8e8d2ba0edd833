import { Fault } from "../domain/mod.ts";
import type { ConnectionInfo } from "./access.ts";
import type { ConnectionPorts } from "./client_watch.ts";
import { faultResponse } from "./errors.ts";
import { isLoopback } from "./host_name.ts";
import { dialectOf } from "./routes.ts";

/** An address to listen on, or the one listened on: then the port is the real one. */
export interface ListenAt {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
}

/** Both ends of the connection, with their ports. */
export interface SocketInfo extends ConnectionInfo, ConnectionPorts {}

/** What is run for each request. */
export type HandleRequest = (
  request: Request,
  info: SocketInfo,
) => Promise<Response>;

/** A socket that is served. */
export interface BoundServer {
  readonly port: number;
  /** Resolves when the socket was closed on purpose, rejects when it broke. */
  readonly finished: Promise<void>;
  /** Refuse what comes from now on; resolves once all that runs was answered and the socket closed. */
  drain(): Promise<void>;
  /** Close the socket and end what still runs. */
  close(): void;
}

/** Binds one socket. Throws, or rejects, as the runtime does. */
export type Bind = (
  at: ListenAt,
  handle: HandleRequest,
) => BoundServer | Promise<BoundServer>;

/** A socket of the runtime, never compressing by itself: that holds streams back (SSE-13). */
export const bindWithDeno: Bind = (at, handle) => {
  const ending = new AbortController();
  const idle = Promise.withResolvers<void>();
  let running = 0;
  let draining = false;
  const server: Deno.HttpServer<Deno.NetAddr> = Deno.serve(
    {
      hostname: at.host,
      port: at.port,
      automaticCompression: false,
      signal: ending.signal,
      // The node says where it listens once all of it is up.
      onListen: () => {},
    },
    (request, { remoteAddr, completed }) => {
      if (draining) return refuseWhileEnding(request);
      running++;
      completed.then(settle, settle);
      const { hostname: remoteHost, port: remotePort } = remoteAddr;
      return handle(request, {
        remoteHost,
        localHost: localEnd(at.host, remoteHost),
        remotePort,
        localPort: port,
      });
    },
  );
  const { port } = server.addr;

  /** However a request ended, it runs no more. */
  function settle(): void {
    running--;
    if (draining && running === 0) idle.resolve();
  }

  return {
    port,
    finished: server.finished,
    async drain() {
      draining = true;
      if (running === 0) idle.resolve();
      await idle.promise;
      // The runtime counts a request as completed before its last bytes are out.
      if (!ending.signal.aborted) await server.shutdown();
    },
    close() {
      // After `shutdown`, aborting the signal throws outside of any promise.
      if (!draining || running > 0) ending.abort();
    },
  };
};

/**
 * The runtime does not tell the address a connection came to. Bound to one
 * address it is that; bound to all of them, a caller from loopback can only
 * have come to this machine from itself.
 */
function localEnd(boundHost: string, remoteHost: string): string {
  const wildcard = boundHost === "0.0.0.0" || boundHost === "::";
  return wildcard && isLoopback(remoteHost) ? remoteHost : boundHost;
}

/**
 * Answer a request that came while the listener ends: the process lives, and
 * takes no work.
 *
 * @param request The request.
 */
export function refuseWhileEnding(request: Request): Response {
  const { pathname } = new URL(request.url);
  if (pathname === "/healthz") return Response.json({ status: "ok" });
  return faultResponse(
    new Fault("shutting_down", "This node is shutting down", {
      retryAfterMs: 1000,
    }),
    dialectOf(pathname),
    { connection: "close" },
  );
}
