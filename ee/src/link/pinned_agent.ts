import { Agent, type AgentOptions } from "node:https";
import type { ClientRequest } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "@covey/core/platform";
import type { DialledSocket } from "./dial.ts";

/** The server keeps idle connections for 75 s, so that the client always closes first. */
const IDLE_LIMIT_MS = 60_000;
/** Most connections to one member. */
const MAX_SOCKETS = 256;

/** Opens one connection whose key has been checked. */
export type Dial = () => Promise<DialledSocket>;

/**
 * The connections to one member. Each was checked for that member's key before
 * HTTP got it, and no other member's requests ever run on it: an agent that is
 * shared would reuse a connection without asking whose it is.
 */
export class PinnedAgent extends Agent {
  readonly #dial: Dial;
  readonly #clock: Clock;
  readonly #onDropped: () => void;
  readonly #idle = new Map<Duplex, Disposable>();
  readonly #watched = new WeakSet<Duplex>();

  /**
   * @param dial Opens a connection.
   * @param clock For the time that connections may idle.
   * @param onDropped Called when an idle connection ends by the other side's will.
   */
  constructor(dial: Dial, clock: Clock, onDropped: () => void) {
    super({ keepAlive: true, maxSockets: MAX_SOCKETS });
    this.#dial = dial;
    this.#clock = clock;
    this.#onDropped = onDropped;
  }

  override createConnection(
    _options: AgentOptions,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#dial().then(
      ({ socket }) => callback?.(null, socket),
      // The declared type has no room for a failure without a socket.
      (error) => (callback as (error: Error) => void)?.(error),
    );
  }

  override keepSocketAlive(socket: Duplex): boolean {
    if (!this.#watched.has(socket)) {
      this.#watched.add(socket);
      socket.once("close", () => {
        // Those that this side lets go are not listed as idle any more.
        const wasIdle = this.#idle.has(socket);
        this.#rouse(socket);
        if (wasIdle) this.#onDropped();
      });
    }
    this.#rouse(socket);
    this.#idle.set(
      socket,
      this.#clock.after(IDLE_LIMIT_MS, () => {
        this.#idle.delete(socket);
        socket.destroy();
      }),
    );
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#rouse(socket);
    super.reuseSocket(socket, request);
  }

  override destroy(): void {
    for (const timer of this.#idle.values()) timer[Symbol.dispose]();
    this.#idle.clear();
    super.destroy();
  }

  #rouse(socket: Duplex): void {
    this.#idle.get(socket)?.[Symbol.dispose]();
    this.#idle.delete(socket);
  }
}
