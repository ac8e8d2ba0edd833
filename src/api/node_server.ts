import {
  createServer as createPlainServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Fault } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import {
  type Bind,
  type HandleRequest,
  type ListenAt,
  refuseWhileEnding,
} from "./deno_server.ts";
import { faultResponse } from "./errors.ts";
import { requestOf, sendAnswer } from "./node_exchange.ts";
import { dialectOf } from "./routes.ts";
import type { TlsIdentity } from "./tls_identity.ts";

/** What strangers may take of a listener. */
export interface ListenerLimits {
  /** Longest time for a request's head, in milliseconds. */
  readonly headersMs: number;
  /** Longest time for a whole request, in milliseconds. */
  readonly requestMs: number;
  /** Longest time in which a client takes nothing of its answer, in milliseconds. */
  readonly stalledMs: number;
  /** How long a connection may idle between two requests, in milliseconds. */
  readonly idleMs: number;
  /** How often connections are checked for the first two, in milliseconds. */
  readonly checkEveryMs: number;
  /** Most bytes of a request's head. */
  readonly headBytes: number;
  /** Most connections. */
  readonly connections: number;
  /** Most connections of one address. */
  readonly connectionsPerAddress: number;
}

/** The limits of design.md 7. */
export const LISTENER_LIMITS: ListenerLimits = {
  headersMs: 10_000,
  requestMs: 300_000,
  stalledMs: 120_000,
  idleMs: 75_000,
  checkEveryMs: 2_500,
  headBytes: 64 * 1024,
  connections: 1024,
  connectionsPerAddress: 64,
};

/** What such sockets are made of. */
export interface NodeServerOptions {
  readonly clock: Clock;
  readonly limits?: ListenerLimits;
  /** Null for plain HTTP. */
  readonly tls: TlsIdentity | null;
}

/**
 * Make the way to bind sockets that strangers reach: slow clients, and many
 * connections of one, are bounded here as the runtime's own server can not.
 *
 * @param options Limits and certificate.
 * @returns Binds one socket.
 */
export function bindWithNode(options: NodeServerOptions): Bind {
  const { clock, tls, limits = LISTENER_LIMITS } = options;
  return async (at, handle) => {
    const server = await createServer(limits, tls);
    const port = await listen(server, at);
    const finished = Promise.withResolvers<void>();
    // A socket that can no longer accept, as without descriptors, is opened again.
    server.on("error", (error) => {
      destroyAll();
      server.close();
      finished.reject(error);
    });
    server.on("close", () => finished.resolve());
    const sockets = new Map<Socket, string>();
    const underWay = new Set<IncomingMessage>();
    const running = new Set<Promise<void>>();
    let draining = false;

    // Before TLS hears of a connection: what it began it keeps for a while.
    const emit = server.emit.bind(server);
    server.emit = (event: string | symbol, ...values: unknown[]): boolean => {
      if (event === "connection" && !enter(values[0] as Socket)) return true;
      return Reflect.apply(emit, server, [event, ...values]);
    };
    server.on("clientError", (error, socket) => {
      // Whoever waits for an answer, or reads one, can take no other.
      const waits = [...underWay].some((one) => one.socket === socket);
      if (waits) socket.destroy();
      else refuseUnreadable(error, socket as Socket);
    });
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    server.on("request", (message: IncomingMessage, response) => {
      const done = serve(message, response).catch(() => void response.destroy())
        .finally(() => running.delete(done));
      running.add(done);
    });

    function enter(socket: Socket): boolean {
      const address = (socket.remoteAddress ?? "").replace(/^::ffff:/i, "");
      let ofAddress = 0;
      for (const other of sockets.values()) if (other === address) ofAddress++;
      if (
        sockets.size >= limits.connections ||
        ofAddress >= limits.connectionsPerAddress
      ) {
        socket.destroy();
        return false;
      }
      sockets.set(socket, address);
      socket.once("close", () => sockets.delete(socket));
      return true;
    }

    async function serve(
      message: IncomingMessage,
      response: ServerResponse,
    ): Promise<void> {
      const left = new AbortController();
      const closed = Promise.withResolvers<void>();
      // A client may leave at any time; what it left behind is seen below.
      message.on("error", () => {});
      response.on("error", () => {});
      underWay.add(message);
      response.once("close", () => {
        underWay.delete(message);
        left.abort(new DOMException("The client left", "AbortError"));
        closed.resolve();
      });
      const answer = await answerTo(message, handle, left.signal);
      await sendAnswer(
        answer,
        response,
        { clock, ms: limits.stalledMs },
        left.signal,
      );
      // The last bytes of an answer have a deadline as those before them.
      using _stall = clock.after(limits.stalledMs, () => response.destroy());
      await closed.promise;
    }

    async function answerTo(
      message: IncomingMessage,
      handle: HandleRequest,
      left: AbortSignal,
    ): Promise<Response> {
      const { socket } = message;
      const request = requestOf(message, originOf(at.host, port, tls), left);
      if (request === null) return unreadable(message.url ?? "");
      if (draining) return refuseWhileEnding(request);
      return await handle(request, {
        left,
        remoteHost: socket.remoteAddress ?? "unknown",
        localHost: socket.localAddress ?? at.host,
        remotePort: socket.remotePort ?? 0,
        localPort: socket.localPort ?? port,
      });
    }

    function destroyAll(): void {
      for (const socket of sockets.keys()) socket.destroy();
    }

    return {
      port,
      finished: finished.promise,
      async drain() {
        draining = true;
        while (running.size > 0) await Promise.allSettled([...running]);
        server.close();
        destroyAll();
        await finished.promise.catch(() => {
          // A socket that broke is closed too.
        });
      },
      close() {
        server.close();
        destroyAll();
      },
    };
  };
}

async function createServer(
  limits: ListenerLimits,
  tls: TlsIdentity | null,
): Promise<Server> {
  const options = {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    maxHeaderSize: limits.headBytes,
    noDelay: true,
  };
  if (tls === null) return createPlainServer(options);
  const { createServer: createTlsServer } = await import("node:https");
  return createTlsServer({
    ...options,
    cert: tls.certificatePem,
    key: tls.privateKeyPem,
    minVersion: "TLSv1.2",
    handshakeTimeout: limits.headersMs,
  });
}

async function listen(server: Server, at: ListenAt): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(at.port, at.host, resolve);
  await promise;
  server.removeListener("error", reject);
  return (server.address() as AddressInfo).port;
}

function originOf(host: string, port: number, tls: TlsIdentity | null): string {
  const scheme = tls === null ? "http" : "https";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** What stands for requests that end before they were read, by the parser's word for why. */
const REFUSALS: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

/** Say in HTTP's own words that this was none, and hang up. */
function refuseUnreadable(error: Error, socket: Socket): void {
  const code = "code" in error ? String(error.code) : "";
  if (socket.writable) {
    socket.write(
      `HTTP/1.1 ${
        REFUSALS[code] ?? "400 Bad Request"
      }\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    );
  }
  socket.destroySoon();
}

function unreadable(target: string): Response {
  return faultResponse(
    new Fault("invalid_request", "This is no request that Covey can read"),
    dialectOf(target),
    { connection: "close" },
  );
}
