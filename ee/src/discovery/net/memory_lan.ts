import type { Clock } from "@covey/core/platform";
import { readPacket, writePacket } from "../dns/packet.ts";
import { type DnsMessage, MDNS_PORT } from "../dns/message.ts";
import type {
  Endpoint,
  MulticastSocket,
  MulticastSocketOptions,
  OpenMulticastSocket,
} from "./multicast_socket.ts";

/** One message on its way from one socket to another. */
export interface Passage {
  /** Addresses of the two sockets. */
  readonly from: string;
  readonly to: string;
  readonly message: DnsMessage;
}

/** What the network does with a message. */
export interface Treatment {
  /** Copies that arrive; 0 is a loss. */
  readonly copies: number;
  readonly delayMs: number;
}

/** One message that was sent. */
export interface SentMessage {
  readonly atMs: number;
  readonly from: string;
  readonly message: DnsMessage;
  readonly to: Endpoint | null;
}

interface Attached {
  readonly options: MulticastSocketOptions;
  isClosed: boolean;
}

/**
 * A link in memory, for tests: every socket that is opened on it hears what
 * the others send, as far as `treat` lets it through.
 */
export class MemoryLan {
  readonly #clock: Clock;
  readonly #sockets = new Set<Attached>();
  readonly #refused = new Map<string, string>();
  /** All that was sent, oldest first. */
  readonly sent: SentMessage[] = [];
  /** Loss, duplication, delay and partition, decided for each passage. */
  treat: (passage: Passage) => Treatment = () => ({ copies: 1, delayMs: 1 });
  /** Set to make every send fail with that message. */
  failSends: string | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of sockets open. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Make opening sockets at an address fail, or succeed again with null. */
  refuse(address: string, reason: string | null): void {
    if (reason === null) this.#refused.delete(address);
    else this.#refused.set(address, reason);
  }

  /** Break the sockets open at an address. */
  break(address: string, reason: string): void {
    for (const socket of [...this.#sockets]) {
      if (socket.options.address === address) socket.options.onFailure(reason);
    }
  }

  /** Put a message on the link from an address that has no socket here. */
  inject(message: DnsMessage, from: Endpoint): void {
    this.#spread(message, from, null);
  }

  /** The port that nodes under test are given. */
  readonly openSocket: OpenMulticastSocket = (options) => {
    const refused = this.#refused.get(options.address);
    if (refused !== undefined) return Promise.reject(new Error(refused));
    const attached: Attached = { options, isClosed: false };
    this.#sockets.add(attached);
    const socket: MulticastSocket = {
      send: (message, to) => {
        if (this.failSends !== null) {
          return Promise.reject(new Error(this.failSends));
        }
        const from = { address: options.address, port: MDNS_PORT };
        const atMs = this.#clock.monotonic();
        this.sent.push({ atMs, from: from.address, message, to: to ?? null });
        this.#spread(message, from, to ?? null);
        return Promise.resolve();
      },
      [Symbol.asyncDispose]: () => {
        attached.isClosed = true;
        this.#sockets.delete(attached);
        return Promise.resolve();
      },
    };
    return Promise.resolve(socket);
  };

  #spread(message: DnsMessage, from: Endpoint, to: Endpoint | null): void {
    for (const receiver of this.#sockets) {
      const { address } = receiver.options;
      if (to !== null && to.address !== address) continue;
      if (address.includes(":") !== from.address.includes(":")) continue;
      const { copies, delayMs } = this.treat({
        from: from.address,
        to: address,
        message,
      });
      for (let copy = 0; copy < copies; copy++) {
        this.#clock.after(delayMs, () => {
          const heard = readPacket(writePacket(message));
          if (receiver.isClosed || heard === undefined) return;
          receiver.options.onMessage(heard, from);
        });
      }
    }
  }
}
