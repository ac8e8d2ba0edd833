import type { Clock } from "@covey/core/platform";
import { BrokenHandshakes } from "./broken_handshakes.ts";

/** Most connections of strangers at once. */
const MOST_STRANGERS = 64;
/** Most connections of strangers from one address. */
const MOST_PER_ADDRESS = 4;
/**
 * Most connections from members' addresses that have not shown a key yet: half
 * of all there may be, so that who shares an address with one can not take all.
 */
const MOST_UNPROVED = 256;
/** How long a stranger's connection may last. */
const STRANGER_LIFE_MS = 10_000;
/** Most addresses remembered as members'. */
const MOST_KNOWN_ADDRESSES = 512;
/** Most handshakes broken off of late from an address of strangers, and from a member's. */
const MOST_BROKEN = 16;
const MOST_BROKEN_AT_MEMBER = 64;

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
  readonly #broken = new BrokenHandshakes();
  #total = 0;
  #unproved = 0;

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
    const isKnown = this.#knownAddresses.has(address);
    if (!this.#hasRoom(address, isKnown)) return undefined;
    let isProved = false;
    let isCounted = !isKnown;
    if (isKnown) this.#unproved++;
    else this.#take(address);
    const prove = () => {
      if (!isProved && isKnown) this.#unproved--;
      isProved = true;
    };
    const uncount = () => {
      if (isCounted) this.#leave(address);
      isCounted = false;
    };
    const timer = this.#clock.after(STRANGER_LIFE_MS, expel);
    return {
      becomeMember: () => {
        prove();
        uncount();
        timer[Symbol.dispose]();
        this.#know(address);
      },
      becomeStranger: () => {
        prove();
        if (isCounted) return true;
        if (this.#isFull(address)) return false;
        isCounted = true;
        this.#take(address);
        return true;
      },
      [Symbol.dispose]: () => {
        if (!isProved) this.#broken.add(address, this.#clock.monotonic());
        prove();
        uncount();
        timer[Symbol.dispose]();
      },
    };
  }

  #hasRoom(address: string, isKnown: boolean): boolean {
    const { here, total } = this.#broken.count(
      address,
      this.#clock.monotonic(),
    );
    return isKnown
      ? this.#unproved < MOST_UNPROVED && here < MOST_BROKEN_AT_MEMBER
      : !this.#isFull(address) && here < MOST_BROKEN &&
        total < MOST_UNPROVED;
  }

  #isFull(address: string): boolean {
    return this.#total >= MOST_STRANGERS ||
      (this.#counts.get(address) ?? 0) >= MOST_PER_ADDRESS;
  }

  #take(address: string): void {
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
    this.#total++;
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
