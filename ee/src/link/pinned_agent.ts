import { Agent, type AgentOptions } from "node:https";
import type { ClientRequest } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "@covey/core/platform";
import type { DialledSocket } from "./dial.ts";

/** The server keeps idle connections for 75 s, so that the client always closes first. */
const IDLE_LIMIT_MS = 60_000;
/** Most connections to one member. */
const MAX_SOCKETS = 256;

/** Most dials at once to one member, of those that can wait. */
const MAX_DIALS = 4;

/** Opens one connection whose key has been checked. */
export type Dial = () => Promise<DialledSocket>;

/** Told of what happens to the connections. */
export interface PoolEvents {
  /** An idle connection ended by the other side's will. */
  onDropped(): void;
  /** There may be room for a request that waits. */
  onRoom(): void;
  /** A dial failed, and no connection has come to stand or become free since it began. */
  onNoWay(error: unknown): void;
}

/**
 * The connections to one member. Each was checked for that member's key before
 * HTTP got it, and no other member's requests ever run on it: an agent that is
 * shared would reuse a connection without asking whose it is.
 */
export class PinnedAgent extends Agent {
  readonly #dial: Dial;
  readonly #clock: Clock;
  readonly #events: PoolEvents;
  readonly #idle = new Map<Duplex, Disposable>();
  readonly #watched = new WeakSet<Duplex>();
  #dialling = 0;
  /** Counts connections that came to stand or became free. */
  #signs = 0;

  /**
   * @param dial Opens a connection.
   * @param clock For the time that connections may idle.
   * @param events Told of what happens to the connections.
   */
  constructor(dial: Dial, clock: Clock, events: PoolEvents) {
    super({ keepAlive: true, maxSockets: MAX_SOCKETS });
    this.#dial = dial;
    this.#clock = clock;
    this.#events = events;
  }

  /** Whether a request that begins now has an idle connection, or should dial one. */
  get hasRoom(): boolean {
    const free = Object.values(this.freeSockets);
    if (free.some((some) => some?.some((one) => !one.destroyed))) return true;
    if (this.#dialling >= MAX_DIALS) return false;
    const busy = Object.values(this.sockets)
      .reduce((sum, some) => sum + (some?.length ?? 0), 0);
    return busy + this.#dialling < MAX_SOCKETS;
  }

  override createConnection(
    _options: AgentOptions,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#dialling++;
    const signsBefore = this.#signs;
    this.#dial().then(
      ({ socket }) => {
        this.#dialling--;
        this.#signs++;
        socket.once("close", () => this.#events.onRoom());
        callback?.(null, socket);
        this.#events.onRoom();
      },
      (error) => {
        this.#dialling--;
        // The declared type has no room for a failure without a socket.
        (callback as (error: Error) => void)?.(error);
        if (this.#signs === signsBefore) this.#events.onNoWay(error);
        else this.#events.onRoom();
      },
    );
  }

  override keepSocketAlive(socket: Duplex): boolean {
    if (!this.#watched.has(socket)) {
      this.#watched.add(socket);
      socket.once("close", () => {
        // Those that this side lets go are not listed as idle any more.
        const wasIdle = this.#idle.has(socket);
        this.#rouse(socket);
        if (wasIdle) this.#events.onDropped();
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
    this.#signs++;
    this.#events.onRoom();
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
