import type { Log } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { createClientWatch } from "./client_watch.ts";
import {
  type Bind,
  bindWithDeno,
  type BoundServer,
  type HandleRequest,
  type ListenAt,
} from "./deno_server.ts";
import { isLoopback } from "./host_name.ts";
import {
  findPortHolder,
  type KernelTables,
  type PortHolder,
} from "./port_holder.ts";
import type { TlsIdentity } from "./tls_identity.ts";

/** Why the node cannot start; the message is one line for the terminal. */
export class StartError extends Error {
  override readonly name = "StartError";
  /** Whether the system denied it to this user: starting again changes nothing. */
  readonly denied: boolean;

  /**
   * Make an error.
   *
   * @param message One line for the terminal.
   * @param options What lies behind it, and whether the system denied it.
   */
  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly denied?: boolean } = {},
  ) {
    super(
      message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.denied = options.denied ?? false;
  }
}

/** What the listeners are built from. */
export interface ListenersOptions {
  readonly addresses: readonly ListenAt[];
  readonly handle: HandleRequest;
  readonly log: Log;
  readonly clock: Clock;
  /** How sockets are bound; the runtime's own on loopback and bounded ones elsewhere, unless a test says otherwise. */
  readonly bind?: Bind;
  /** What listeners beyond loopback prove themselves by; null or absent for plain HTTP. */
  readonly tls?: TlsIdentity | null;
  /** Where the holder of a taken port is looked up. */
  readonly kernelTables?: KernelTables;
  /** How long running requests may go on after dispose began, in milliseconds; 5,000 unless said. */
  readonly graceMs?: number;
  /** Resolves when they have had their time, in place of `graceMs`; the signal ends that wait. */
  readonly grace?: (signal: AbortSignal) => Promise<void>;
}

/** Open sockets of the API. Disposing closes them, letting running requests end within the grace. */
export interface Listeners extends AsyncDisposable {
  /** Where they listen, with real ports. */
  readonly addresses: readonly ListenAt[];
}

const GRACE_MS = 5000;
const LAST_BYTES_MS = 1000;
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
  const watch = opening.use(
    createClientWatch(options.clock, options.kernelTables ?? PROC),
  );
  // What a request without a body asks for is answered at once.
  const handle: HandleRequest = (request, info) =>
    hasBody(request)
      ? watch.during(
        info,
        () => info.left ?? request.signal,
        (left) => options.handle(request, { ...info, left }),
      )
      : options.handle(request, info);
  const listeners: Listener[] = [];
  for (const at of options.addresses) {
    listeners.push(opening.use(await openListener(at, { ...options, handle })));
  }
  const opened = opening.move();
  return {
    addresses: listeners.map((one) => one.at),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Looking at the body itself would make a stream of it. */
function hasBody(request: Request): boolean {
  const length = request.headers.get("content-length");
  return length === null ? request.body !== null : length !== "0";
}

/** What only this machine reaches needs no bounds, and does not pay for them. */
async function bindFor(
  { host }: ListenAt,
  { clock, tls = null }: ListenersOptions,
): Promise<Bind> {
  if (isLoopback(host)) return bindWithDeno;
  const { bindWithNode } = await import("./node_server.ts");
  return bindWithNode({ clock, tls });
}

interface Listener extends AsyncDisposable {
  readonly at: ListenAt;
}

async function openListener(
  wanted: ListenAt,
  options: ListenersOptions,
): Promise<Listener> {
  const { handle, log, clock } = options;
  const bind = options.bind ?? await bindFor(wanted, options);
  const closing = new AbortController();
  let first: BoundServer;
  try {
    first = await bind(wanted, handle);
  } catch (error) {
    throw await startError(wanted, error, options.kernelTables ?? PROC);
  }
  /** What serves now, or null while a broken socket waits to be opened again. */
  let server: BoundServer | null = first;
  const at: ListenAt = { host: wanted.host, port: first.port };
  const kept = keepOpen();

  /** Owns the socket until it is closed on purpose. */
  async function keepOpen(): Promise<void> {
    for (;;) {
      if (server === null) return;
      try {
        await server.finished;
        return;
      } catch (error) {
        server = null;
        log.error("The API's socket broke; opening it again", {
          host: at.host,
          port: at.port,
          cause: String(error),
        });
      }
      server = await reopen();
    }
  }

  async function reopen(): Promise<BoundServer | null> {
    for (
      let delayMs = FIRST_REOPEN_MS;
      !closing.signal.aborted;
      delayMs = Math.min(delayMs * 2, LONGEST_REOPEN_MS)
    ) {
      try {
        await clock.sleep(delayMs, closing.signal);
      } catch {
        // Only dispose ends this wait early.
        return null;
      }
      try {
        const opened = await bind(at, handle);
        log.info("The API's socket is open again", {
          host: at.host,
          port: at.port,
        });
        return opened;
      } catch (error) {
        log.error("Failed to open the API's socket again", {
          host: at.host,
          port: at.port,
          cause: String(error),
        });
      }
    }
    return null;
  }

  return {
    at,
    async [Symbol.asyncDispose]() {
      closing.abort();
      if (server !== null) {
        await endWithin(server, options);
        server?.close();
      }
      // A client that never reads its last bytes keeps the runtime from ending.
      using last = clock.deadline(LAST_BYTES_MS);
      await Promise.race([kept, aborted(last.signal)]);
    },
  };
}

/** Let running requests end while they have time. */
async function endWithin(
  server: BoundServer,
  { clock, grace, graceMs = GRACE_MS }: ListenersOptions,
): Promise<void> {
  if (grace === undefined) {
    using deadline = clock.deadline(graceMs);
    await Promise.race([server.drain(), aborted(deadline.signal)]);
    return;
  }
  const over = new AbortController();
  await Promise.race([server.drain(), grace(over.signal)]);
  over.abort();
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

async function startError(
  at: ListenAt,
  error: unknown,
  tables: KernelTables,
): Promise<StartError> {
  const where = `${
    at.host.includes(":") ? `[${at.host}]` : at.host
  }:${at.port}`;
  const code = codeOf(error);
  if (error instanceof Deno.errors.AddrInUse || code === "EADDRINUSE") {
    const holder = await findPortHolder(at.port, tables);
    return new StartError(
      `Failed to listen on ${where}: the port is in use${
        describe(holder)
      }; stop that program or set COVEY_PORT to another port`,
      { cause: error },
    );
  }
  if (
    error instanceof Deno.errors.AddrNotAvailable || code === "EADDRNOTAVAIL"
  ) {
    return new StartError(
      `Failed to listen on ${where}: the address is not one of this machine's; set COVEY_HOST to one that is`,
      { cause: error },
    );
  }
  if (
    error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable || code === "EACCES"
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

/** The system's word for a failure, where the error carries it. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
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
