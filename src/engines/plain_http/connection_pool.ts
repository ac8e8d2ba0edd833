import type { Clock } from "../../platform/mod.ts";
import type { PlainConnection } from "./plain_connection.ts";
import { RestLimit } from "./rest_limit.ts";

/** More are closed: each holds a buffer and a descriptor. */
const MOST_IDLE = 64;
/** Closed by this much before the server says that it would. */
const EARLY_MS = 1_000;

interface Idle {
  readonly connection: PlainConnection;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** A connection that rested. */
export interface Kept {
  readonly connection: PlainConnection;
  readonly restedMs: number;
}

/** Connections to one server that wait to be asked again. */
export class ConnectionPool implements Disposable {
  readonly #clock: Clock;
  /** The one that rested last is the last. */
  readonly #idle: Idle[] = [];
  readonly #limit = new RestLimit();
  #timer: Disposable | null = null;
  #ringsMs = Infinity;
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
  take(): Kept | null {
    const last = this.#idle.pop();
    if (last === undefined) return null;
    const { connection, sinceMs, untilMs } = last;
    connection.wake();
    const nowMs = this.#clock.monotonic();
    if (untilMs > nowMs) return { connection, restedMs: nowMs - sinceMs };
    // Those below it have rested for longer; the timer is late.
    connection.close();
    return null;
  }

  /**
   * Take in that a connection proved to have been ended by the server while it
   * rested.
   *
   * @param restedMs For how long it had.
   */
  noteEnded(restedMs: number): void {
    this.#limit.learn(restedMs, this.#clock.monotonic());
  }

  /**
   * Keep a connection for the next request.
   *
   * @param connection At rest from now on.
   * @param keptForMs For how long the server says that it keeps it, or null.
   */
  keep(connection: PlainConnection, keptForMs: number | null): void {
    const sinceMs = this.#clock.monotonic();
    const forMs = Math.min(
      this.#limit.at(sinceMs),
      (keptForMs ?? Infinity) - EARLY_MS,
    );
    if (this.#isDisposed || forMs <= 0 || this.#idle.length >= MOST_IDLE) {
      return connection.close();
    }
    const untilMs = sinceMs + forMs;
    this.#idle.push({ connection, sinceMs, untilMs });
    connection.rest();
    this.#ringBy(untilMs, sinceMs);
  }

  /** Forget a connection that was closed; where it rested, the server did it. */
  forget(connection: PlainConnection): void {
    const at = this.#idle.findIndex((one) => one.connection === connection);
    const [idle] = at < 0 ? [] : this.#idle.splice(at, 1);
    if (idle === undefined) return;
    this.noteEnded(this.#clock.monotonic() - idle.sinceMs);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timer?.[Symbol.dispose]();
    for (const { connection } of this.#idle.splice(0)) connection.close();
  }

  /** One timer for all, which is not set anew for each request. */
  #ringBy(atMs: number, nowMs: number): void {
    if (atMs >= this.#ringsMs) return;
    this.#timer?.[Symbol.dispose]();
    this.#ringsMs = atMs;
    this.#timer = this.#clock.after(atMs - nowMs, () => this.#expire());
  }

  #expire(): void {
    this.#ringsMs = Infinity;
    const nowMs = this.#clock.monotonic();
    for (const one of this.#idle.splice(0)) {
      if (one.untilMs > nowMs) this.#idle.push(one);
      else one.connection.close();
    }
    const nextMs = Math.min(...this.#idle.map(({ untilMs }) => untilMs));
    if (nextMs < Infinity) this.#ringBy(nextMs, nowMs);
  }
}
