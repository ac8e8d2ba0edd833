import type { Log } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import type { ConnectionInfo } from "./access.ts";
import { isLoopback } from "./host_name.ts";
import {
  findPortHolder,
  type KernelTables,
  type PortHolder,
} from "./port_holder.ts";

/** Why the node cannot start; the message is one line for the terminal. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** An address to listen on, or the one listened on: then the port is the real one. */
export interface ListenAt {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
}

/** What is run for each request. */
export type HandleRequest = (
  request: Request,
  info: ConnectionInfo,
) => Promise<Response>;

/** A socket that is served. */
export interface BoundServer {
  readonly port: number;
  /** Resolves when the socket was closed on purpose, rejects when it broke. */
  readonly finished: Promise<void>;
  /** Stop accepting; resolves once running requests are done. */
  shutdown(): Promise<void>;
  /** End every connection now. */
  abort(): void;
}

/** Binds one socket. Throws as `Deno.serve` does. */
export type Bind = (at: ListenAt, handle: HandleRequest) => BoundServer;

/** What the listeners are built from. */
export interface ListenersOptions {
  readonly addresses: readonly ListenAt[];
  readonly handle: HandleRequest;
  readonly log: Log;
  readonly clock: Clock;
  /** How sockets are bound; the runtime's own unless a test says otherwise. */
  readonly bind?: Bind;
  /** Where the holder of a taken port is looked up. */
  readonly kernelTables?: KernelTables;
  /** How long running requests may go on after dispose began, in milliseconds; 5,000 unless said. */
  readonly graceMs?: number;
}

/** Open sockets of the API. Disposing closes them, letting running requests end within the grace. */
export interface Listeners extends AsyncDisposable {
  /** Where they listen, with real ports. */
  readonly addresses: readonly ListenAt[];
}

const GRACE_MS = 5000;
const FIRST_REOPEN_MS = 1000;
const LONGEST_REOPEN_MS = 30_000;

/**
 * Open the API's sockets. A socket that breaks later, as when descriptors run
 * out, is logged and opened again on the same port.
 *
 * @param options What they are built from.
 * @returns The listeners.
 * @throws {StartError} When one of the addresses cannot be bound; none stays open then.
 */
export async function openListeners(
  options: ListenersOptions,
): Promise<Listeners> {
  await using opening = new AsyncDisposableStack();
  const listeners: Listener[] = [];
  for (const at of options.addresses) {
    listeners.push(opening.use(await openListener(at, options)));
  }
  const opened = opening.move();
  return {
    addresses: listeners.map((one) => one.at),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

interface Listener extends AsyncDisposable {
  readonly at: ListenAt;
}

async function openListener(
  wanted: ListenAt,
  options: ListenersOptions,
): Promise<Listener> {
  const { handle, log, clock, bind = bindWithDeno } = options;
  const closing = new AbortController();
  let server: BoundServer;
  try {
    server = bind(wanted, handle);
  } catch (error) {
    throw await startError(wanted, error, options.kernelTables ?? PROC);
  }
  const at: ListenAt = { host: wanted.host, port: server.port };
  const kept = keepOpen();

  /** Owns the socket until it is closed on purpose. */
  async function keepOpen(): Promise<void> {
    for (;;) {
      try {
        await server.finished;
        return;
      } catch (error) {
        log.error("The API's socket broke; opening it again", {
          host: at.host,
          port: at.port,
          cause: String(error),
        });
      }
      if (!await reopen()) return;
    }
  }

  async function reopen(): Promise<boolean> {
    for (
      let delayMs = FIRST_REOPEN_MS;
      !closing.signal.aborted;
      delayMs = Math.min(delayMs * 2, LONGEST_REOPEN_MS)
    ) {
      try {
        await clock.sleep(delayMs, closing.signal);
      } catch {
        // Only dispose ends this wait early.
        return false;
      }
      try {
        server = bind(at, handle);
        log.info("The API's socket is open again", {
          host: at.host,
          port: at.port,
        });
        return true;
      } catch (error) {
        log.error("Failed to open the API's socket again", {
          host: at.host,
          port: at.port,
          cause: String(error),
        });
      }
    }
    return false;
  }

  return {
    at,
    async [Symbol.asyncDispose]() {
      closing.abort();
      using _grace = clock.after(
        options.graceMs ?? GRACE_MS,
        () => server.abort(),
      );
      await server.shutdown();
      await kept;
    },
  };
}

/** A listener of the runtime, never compressing by itself: that holds streams back (SSE-13). */
const bindWithDeno: Bind = (at, handle) => {
  const ending = new AbortController();
  const server = Deno.serve(
    {
      hostname: at.host,
      port: at.port,
      automaticCompression: false,
      signal: ending.signal,
      // The node says where it listens once all of it is up.
      onListen: () => {},
    },
    (request, { remoteAddr }) => {
      const remoteHost = remoteAddr.hostname;
      return handle(request, { remoteHost, localHost: localEnd(remoteHost) });
    },
  );
  const { port } = server.addr;

  /**
   * The runtime does not tell the address a connection came to. Bound to one
   * address it is that; bound to all of them, a caller from loopback can only
   * have come to this machine from itself.
   */
  function localEnd(remoteHost: string): string {
    const wildcard = at.host === "0.0.0.0" || at.host === "::";
    return wildcard && isLoopback(remoteHost) ? remoteHost : at.host;
  }

  return {
    port,
    finished: server.finished,
    shutdown: () => server.shutdown(),
    abort: () => ending.abort(),
  };
};

async function startError(
  at: ListenAt,
  error: unknown,
  tables: KernelTables,
): Promise<StartError> {
  const where = `${
    at.host.includes(":") ? `[${at.host}]` : at.host
  }:${at.port}`;
  if (error instanceof Deno.errors.AddrInUse) {
    const holder = await findPortHolder(at.port, tables);
    return new StartError(
      `Failed to listen on ${where}: the port is in use${
        describe(holder)
      }; stop that program or set COVEY_PORT to another port`,
      { cause: error },
    );
  }
  if (error instanceof Deno.errors.AddrNotAvailable) {
    return new StartError(
      `Failed to listen on ${where}: the address is not one of this machine's; set COVEY_HOST to one that is`,
      { cause: error },
    );
  }
  if (
    error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable
  ) {
    return new StartError(
      `Failed to listen on ${where}: permission denied; set COVEY_PORT to a port from 1024 on`,
      { cause: error },
    );
  }
  return new StartError(
    `Failed to listen on ${where}: ${
      error instanceof Error ? error.message : String(error)
    }; check COVEY_HOST and COVEY_PORT`,
    { cause: error },
  );
}

function describe(holder: PortHolder | undefined): string {
  if (holder === undefined) return "";
  return ` by ${holder.program} (process ${holder.pid})`;
}

const PROC: KernelTables = {
  readText: (path) => Deno.readTextFile(path),
  async list(path) {
    const names: string[] = [];
    for await (const entry of Deno.readDir(path)) names.push(entry.name);
    return names;
  },
  readLink: (path) => Deno.readLink(path),
};
