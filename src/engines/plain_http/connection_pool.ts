import type { Clock } from "../../platform/mod.ts";
import type { PlainConnection } from "./plain_connection.ts";

/** More are closed: each holds a buffer and a descriptor. */
const MOST_IDLE = 64;
/**
 * Servers of Node, uvicorn (vLLM) and cpp-httplib (llama-server) close what has
 * idled for 5 s: who closes first never sends into a connection that ends.
 */
const IDLE_MS = 4_000;
/** Closed by this much before the server says that it would. */
const EARLY_MS = 1_000;

interface Idle {
  readonly connection: PlainConnection;
  readonly untilMs: number;
}

/** Connections to one server that wait to be asked again. */
export class ConnectionPool implements Disposable {
  readonly #clock: Clock;
  /** The one that rested last is the last. */
  readonly #idle: Idle[] = [];
  #timer: Disposable | null = null;
  #isDisposed = false;

  /** @param clock Ends their rest. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many there are. */
  get size(): number {
    return this.#idle.length;
  }

  /** Take the one that rested last, or null; it is at work from then on. */
  take(): PlainConnection | null {
    const last = this.#idle.pop();
    if (last === undefined) return null;
    last.connection.wake();
    if (last.untilMs > this.#clock.monotonic()) return last.connection;
    // Those below it have rested for longer; the timer is late.
    last.connection.close();
    return null;
  }

  /**
   * Keep a connection for the next request.
   *
   * @param connection At rest from now on.
   * @param keptForMs For how long the server says that it keeps it, or null.
   */
  keep(connection: PlainConnection, keptForMs: number | null): void {
    const forMs = Math.min(IDLE_MS, (keptForMs ?? Infinity) - EARLY_MS);
    if (this.#isDisposed || forMs <= 0 || this.#idle.length >= MOST_IDLE) {
      return connection.close();
    }
    const untilMs = this.#clock.monotonic() + forMs;
    this.#idle.push({ connection, untilMs });
    connection.rest();
    // One timer for all, which is not set anew for each request.
    this.#timer ??= this.#clock.after(forMs, () => this.#expire());
  }

  /** Forget a connection that was closed. */
  forget(connection: PlainConnection): void {
    const at = this.#idle.findIndex((one) => one.connection === connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
    for (const { connection } of [...this.#idle]) connection.close();
  }

  #expire(): void {
    this.#timer = null;
    const nowMs = this.#clock.monotonic();
    for (const { connection, untilMs } of [...this.#idle]) {
      if (untilMs <= nowMs) connection.close();
    }
    const nextMs = Math.min(...this.#idle.map(({ untilMs }) => untilMs));
    if (nextMs === Infinity) return;
    this.#timer = this.#clock.after(nextMs - nowMs, () => this.#expire());
  }
}
