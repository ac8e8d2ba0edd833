import type { Clock } from "@covey/core/platform";
import type { DnsMessage } from "./dns/message.ts";
import type { NetworkInterface } from "./net/interface.ts";
import type { IpFamily } from "./net/ip_address.ts";
import type {
  Endpoint,
  MulticastSocket,
  OpenMulticastSocket,
} from "./net/multicast_socket.ts";

const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 300_000;
/** Refused sends in a row after which the socket is given up. */
const MOST_REFUSALS = 3;
/** Datagrams on their way to the system; more are dropped, as a full network would. */
const MOST_SENDING = 64;

/** What a channel stands on. */
export interface ChannelPorts {
  readonly clock: Clock;
  readonly open: OpenMulticastSocket;
  onMessage(message: DnsMessage, from: Endpoint): void;
  /** The socket works now. */
  onOpen(): void;
  /** The socket does not work; the channel tries again by itself. */
  onDegraded(reason: string): void;
}

type State =
  | { readonly kind: "opening" }
  | { readonly kind: "open"; readonly socket: MulticastSocket }
  | { readonly kind: "degraded"; readonly reason: string }
  | { readonly kind: "closed" };

/**
 * Keeps one socket, of one interface and family, open: opens it, gives it up
 * when it fails, and tries again after 10 s, 20 s … 5 min.
 */
export class Channel implements AsyncDisposable {
  readonly #ports: ChannelPorts;
  readonly #one: NetworkInterface;
  readonly #family: IpFamily;
  readonly #address: string;
  /** Sends and closings under way; awaited on dispose. */
  readonly #running = new Set<Promise<void>>();
  #state: State = { kind: "opening" };
  #retryMs = FIRST_RETRY_MS;
  #retry: Disposable | null = null;
  #refusals = 0;

  /**
   * @param one Interface.
   * @param family Which family on it.
   * @param address Own address of that family on it.
   */
  constructor(
    one: NetworkInterface,
    family: IpFamily,
    address: string,
    ports: ChannelPorts,
  ) {
    this.#one = one;
    this.#family = family;
    this.#address = address;
    this.#ports = ports;
  }

  /** Why it does not work, or null while it does or may. */
  get degradedReason(): string | null {
    return this.#state.kind === "degraded" ? this.#state.reason : null;
  }

  /** Open the socket. Resolves once that has worked or failed. */
  open(): Promise<void> {
    return this.#own(this.#tryToOpen());
  }

  /**
   * Send a message; one that the system refuses is lost, as any datagram may be.
   *
   * @param to One receiver, or nothing for all on the link.
   */
  send(message: DnsMessage, to?: Endpoint): void {
    if (this.#state.kind !== "open" || this.#running.size >= MOST_SENDING) {
      return;
    }
    this.#own(this.#sendOn(this.#state.socket, message, to));
  }

  /** Wait until all that was given to `send` has gone out. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const before = this.#state;
    this.#state = { kind: "closed" };
    this.#retry?.[Symbol.dispose]();
    this.#retry = null;
    if (before.kind === "open") await before.socket[Symbol.asyncDispose]();
    await this.drained();
  }

  async #tryToOpen(): Promise<void> {
    let failed: string | null = null;
    let socket: MulticastSocket;
    try {
      socket = await this.#ports.open({
        interfaceName: this.#one.name,
        family: this.#family,
        address: this.#address,
        onMessage: (message, from) => {
          if (this.#state.kind === "open") this.#ports.onMessage(message, from);
        },
        onFailure: (reason) => {
          failed = reason;
          if (this.#state.kind === "open") this.#giveUp(reason);
        },
      });
    } catch (error) {
      this.#degrade(error instanceof Error ? error.message : String(error));
      return;
    }
    if (this.#state.kind === "closed" || failed !== null) {
      await socket[Symbol.asyncDispose]();
      if (failed !== null) this.#degrade(failed);
      return;
    }
    this.#state = { kind: "open", socket };
    this.#refusals = 0;
    this.#ports.onOpen();
  }

  async #sendOn(
    socket: MulticastSocket,
    message: DnsMessage,
    to: Endpoint | undefined,
  ): Promise<void> {
    try {
      await socket.send(message, to);
      this.#refusals = 0;
      // A socket that opens but can not send has not recovered by opening.
      this.#retryMs = FIRST_RETRY_MS;
    } catch (error) {
      // One receiver may be out of reach while the link is well.
      if (to !== undefined) return;
      this.#refusals++;
      const isCurrent = this.#state.kind === "open" &&
        this.#state.socket === socket;
      if (this.#refusals < MOST_REFUSALS || !isCurrent) return;
      const detail = error instanceof Error ? error.message : String(error);
      this.#giveUp(
        `multicast can not be sent on "${this.#one.name}": ${detail}`,
      );
    }
  }

  #giveUp(reason: string): void {
    if (this.#state.kind !== "open") return;
    const { socket } = this.#state;
    this.#degrade(reason);
    this.#own(socket[Symbol.asyncDispose]());
  }

  #degrade(reason: string): void {
    if (this.#state.kind === "closed") return;
    this.#state = { kind: "degraded", reason };
    this.#retry = this.#ports.clock.after(this.#retryMs, () => {
      this.#retry = null;
      this.#state = { kind: "opening" };
      this.#own(this.#tryToOpen());
    });
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
    this.#ports.onDegraded(reason);
  }

  #own(work: PromiseLike<void>): Promise<void> {
    const running = Promise.resolve(work).finally(() =>
      this.#running.delete(running)
    );
    this.#running.add(running);
    return running;
  }
}
