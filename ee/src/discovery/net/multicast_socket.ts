import type { DnsMessage } from "../dns/message.ts";
import type { IpFamily } from "./ip_address.ts";

/** Where a datagram came from or goes to. */
export interface Endpoint {
  /** Canonical text without zone. */
  readonly address: string;
  readonly port: number;
}

/** What to open. */
export interface MulticastSocketOptions {
  readonly interfaceName: string;
  readonly family: IpFamily;
  /** Own address on that interface and of that family. */
  readonly address: string;
  /** Called with each message that could be read, one's own included. */
  onMessage(message: DnsMessage, from: Endpoint): void;
  /** Called once when the socket has broken; it must still be disposed of. */
  onFailure(reason: string): void;
}

/** A socket on port 5353 that speaks multicast DNS on one interface in one family. */
export interface MulticastSocket extends AsyncDisposable {
  /**
   * Send a message.
   *
   * @param to One receiver, or nothing for all on the link.
   * @throws {Error} (as a rejection) When the system refuses it.
   */
  send(message: DnsMessage, to?: Endpoint): Promise<void>;
}

/**
 * Open a socket.
 *
 * @throws {Error} (as a rejection) When it can not be bound or can not join the group; the message says why.
 */
export type OpenMulticastSocket = (
  options: MulticastSocketOptions,
) => Promise<MulticastSocket>;
