import type { Clock } from "@covey/core/platform";

/** Most connections of strangers at once. */
const MOST_STRANGERS = 64;
/** Most connections of strangers from one address. */
const MOST_PER_ADDRESS = 4;
/** How long a stranger's connection may last. */
const STRANGER_LIFE_MS = 10_000;
/** Most addresses remembered as members'. */
const MOST_KNOWN_ADDRESSES = 512;

/** One connection, from its first packet on. */
export interface Visit extends Disposable {
  /** The other end holds a member's key: the limits of strangers end here. */
  becomeMember(): void;
  /**
   * The other end holds no member's key.
   *
   * @returns False when there is no room for one more stranger.
   */
  becomeStranger(): boolean;
}

/**
 * Counts connections of strangers. Before its handshake anybody is one, but
 * for those who come from an address where a member was met: a member under
 * load opens many connections at once and must not be shut out.
 */
export class VisitorGate {
  readonly #clock: Clock;
  readonly #counts = new Map<string, number>();
  readonly #knownAddresses = new Set<string>();
  #total = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Connections that count as strangers' now. */
  get strangers(): number {
    return this.#total;
  }

  /**
   * Register a connection.
   *
   * @param address Where it comes from.
   * @param expel Called when a stranger's time is up.
   * @returns The visit, to be disposed of when the connection ends; undefined when it must go at once.
   */
  enter(address: string, expel: () => void): Visit | undefined {
    let counted = false;
    const uncount = () => {
      if (!counted) return;
      counted = false;
      this.#leave(address);
    };
    const count = () => counted ||= this.#take(address);
    if (!this.#knownAddresses.has(address) && !count()) return undefined;
    const timer = this.#clock.after(STRANGER_LIFE_MS, expel);
    return {
      becomeMember: () => {
        uncount();
        timer[Symbol.dispose]();
        this.#know(address);
      },
      becomeStranger: count,
      [Symbol.dispose]: () => {
        uncount();
        timer[Symbol.dispose]();
      },
    };
  }

  #take(address: string): boolean {
    const here = this.#counts.get(address) ?? 0;
    if (this.#total >= MOST_STRANGERS || here >= MOST_PER_ADDRESS) return false;
    this.#counts.set(address, here + 1);
    this.#total++;
    return true;
  }

  #leave(address: string): void {
    const left = (this.#counts.get(address) ?? 1) - 1;
    if (left > 0) this.#counts.set(address, left);
    else this.#counts.delete(address);
    this.#total--;
  }

  #know(address: string): void {
    this.#knownAddresses.delete(address);
    this.#knownAddresses.add(address);
    for (const oldest of this.#knownAddresses) {
      if (this.#knownAddresses.size <= MOST_KNOWN_ADDRESSES) break;
      this.#knownAddresses.delete(oldest);
    }
  }
}
