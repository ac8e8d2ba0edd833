import type { Clock, Entropy } from "@covey/core/platform";
import type { DnsMessage, DnsQuestion, DnsRecord } from "./dns/message.ts";
import { queriesOf } from "./dns/service_query.ts";
import { SERVICE_TYPE } from "./dns/service_records.ts";

const FIRST_GAP_MS = 1_000;
const LONGEST_GAP_MS = 60_000;
/** Two queries for the same are never closer than this (RFC 6762, 5.2). */
const LEAST_GAP_MS = 1_000;
/** Keeps nodes that started together from asking together for ever. */
const JITTER_MS = 100;

const BROWSE: DnsQuestion = {
  name: SERVICE_TYPE,
  type: "PTR",
  unicast: false,
};

/** What a querier stands on. */
export interface QuerierPorts {
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Pointers that need not be told again, this node's own among them. */
  known(): readonly DnsRecord[];
  /** Questions for records that are soon to run out; asking counts them. */
  due(): readonly DnsQuestion[];
  /** Send on all sockets of the interface. */
  send(message: DnsMessage): void;
}

/**
 * Asks for the service on one interface: at once, then after 1, 2, 4 … 60 s;
 * and again for single records before they run out.
 */
export class Querier implements Disposable {
  readonly #ports: QuerierPorts;
  #gapMs = FIRST_GAP_MS;
  #askedMs = -Infinity;
  #timer: Disposable | null = null;

  constructor(ports: QuerierPorts) {
    this.#ports = ports;
  }

  /** Ask now, or as soon as the least gap allows, and begin the intervals anew. */
  restart(): void {
    this.#gapMs = FIRST_GAP_MS;
    const nowMs = this.#ports.clock.monotonic();
    const waitMs = this.#askedMs + LEAST_GAP_MS - nowMs;
    if (waitMs > 0) this.#arm(waitMs);
    else this.#ask();
  }

  /** Ask now on a socket that has just been opened, whatever the others did. */
  greet(send: (message: DnsMessage) => void): void {
    for (const message of queriesOf([BROWSE], this.#ports.known())) {
      send(message);
    }
    this.#gapMs = FIRST_GAP_MS;
    this.#askedMs = this.#ports.clock.monotonic();
    this.#arm(FIRST_GAP_MS);
  }

  /** Ask for records that are soon to run out; to be called each second. */
  refreshDue(): void {
    const questions = this.#ports.due();
    if (questions.length === 0) return;
    for (const message of queriesOf(questions, [])) this.#ports.send(message);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
  }

  #ask(): void {
    this.#askedMs = this.#ports.clock.monotonic();
    for (const message of queriesOf([BROWSE], this.#ports.known())) {
      this.#ports.send(message);
    }
    this.#arm(this.#gapMs + this.#ports.entropy.float() * JITTER_MS);
    this.#gapMs = Math.min(this.#gapMs * 2, LONGEST_GAP_MS);
  }

  #arm(ms: number): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#ports.clock.after(ms, () => {
      this.#timer = null;
      this.#ask();
    });
  }
}
