import { type Clock, orAborted } from "../../platform/mod.ts";
import {
  type HttpCall,
  type HttpClient,
  type HttpReply,
  UnreachableError,
} from "../http_client.ts";
import type { AnswerHead } from "./answer_head.ts";
import { keptForMs } from "./body_framing.ts";
import { ConnectionPool } from "./connection_pool.ts";
import { decodedBody } from "./content_decoding.ts";
import { PlainConnection } from "./plain_connection.ts";
import { PlainExchange, UnsentError } from "./plain_exchange.ts";
import { requestBytes } from "./request_bytes.ts";
import { type Dial, dialUnix, type Socket } from "./socket.ts";

/** What a plain client is made of. */
export interface PlainClientOptions {
  /** The way to the server. */
  readonly dial: Dial;
  /** Value of `Host`. */
  readonly host: string;
  readonly clock: Clock;
}

/**
 * Make a client of plain HTTP/1.1 for a server on this machine or next to it.
 *
 * Own code, since no library does it as cheaply and as strictly at once. By
 * `deno task bench:transports`, relative to this client on the same two cores,
 * `fetch` takes 3.0 times the processor time for one answer after the other,
 * 4.3 times with 32 side by side and 3.2 times for an event of a stream; undici
 * 1.5, 1.8 and 0.9 times, and 20 MB of resident memory, a third of what an idle
 * node has; `node:http` with a keep-alive agent 1.4, 1.5 and 0.9 times, but
 * here it sends a POST again whose kept connection was destroyed, so that an
 * engine runs it twice.
 *
 * @param options The server.
 * @returns The client; it connects when it is first used.
 */
export function createPlainClient(options: PlainClientOptions): HttpClient {
  return new PlainClient(options);
}

/**
 * A client for a server on a Unix socket.
 *
 * @param socketPath Path of the socket, at most 100 bytes.
 * @param clock Ends the rest of idle connections.
 * @returns The client; it connects when it is first used.
 */
export function createUnixHttpClient(
  socketPath: string,
  clock: Clock,
): HttpClient {
  return createPlainClient({
    dial: dialUnix(socketPath),
    host: "localhost",
    clock,
  });
}

/**
 * Longest wait for a connection. A server next door answers at once; a lost
 * packet is sent again after a second, and where packets vanish nobody answers.
 */
const CONNECT_LIMIT_MS = 3_000;

class PlainClient implements HttpClient {
  readonly #options: PlainClientOptions;
  readonly #pool: ConnectionPool;
  readonly #open = new Set<PlainConnection>();
  #isDisposed = false;

  constructor(options: PlainClientOptions) {
    this.#options = options;
    this.#pool = new ConnectionPool(options.clock);
  }

  async post(call: HttpCall, signal: AbortSignal): Promise<HttpReply> {
    signal.throwIfAborted();
    const request = await requestBytes(this.#options.host, call);
    const kept = this.#pool.take();
    if (kept !== null) {
      try {
        return await this.#ask(kept.connection, request, signal, kept.restedMs);
      } catch (error) {
        if (!(error instanceof UnsentError)) throw error;
      }
    }
    return await this.#ask(await this.#connect(signal), request, signal);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#pool[Symbol.dispose]();
    for (const connection of [...this.#open]) connection.close();
  }

  async #ask(
    connection: PlainConnection,
    request: Uint8Array,
    signal: AbortSignal,
    restedMs = 0,
  ): Promise<HttpReply> {
    const exchange = new PlainExchange(
      connection,
      signal,
      (head: AnswerHead) => this.#pool.keep(connection, keptForMs(head)),
    );
    const { status, fields } = await exchange.ask(request).catch((error) => {
      if (exchange.isLost) this.#pool.noteEnded(restedMs);
      throw error;
    });
    try {
      return { status, headers: fields, body: decodedBody(fields, exchange) };
    } catch (error) {
      await exchange.cancel();
      throw error;
    }
  }

  async #connect(signal: AbortSignal): Promise<PlainConnection> {
    const { clock, dial } = this.#options;
    using limited = clock.deadline(CONNECT_LIMIT_MS, signal);
    const dialling = dial(limited.signal);
    let socket: Socket;
    try {
      socket = await orAborted(dialling, limited.signal);
    } catch (error) {
      // It may stand all the same, after everybody has left.
      dialling.then((late) => late.close(), () => {});
      signal.throwIfAborted();
      throw new UnreachableError("No connection stands", { cause: error });
    }
    if (this.#isDisposed) {
      socket.close();
      throw new TypeError("The client is closed");
    }
    const connection = new PlainConnection(socket, (closed) => {
      this.#open.delete(closed);
      this.#pool.forget(closed);
    });
    this.#open.add(connection);
    return connection;
  }
}
