import type { Host } from "@covey/core/domain";
import type { InterfaceUse } from "./discovery/mod.ts";
import type { KeyHash } from "./identity/key_hash.ts";
import {
  formatAddress,
  isLoopback,
  type LinkAddress,
  normalHost,
} from "./link/link_address.ts";
import { parseAddress } from "./link/parse_address.ts";
import type { LinkCaller, StatusQuery } from "./link/link_server.ts";
import { AddressBook } from "./membership/address_book.ts";
import type { Peer } from "./membership/peer.ts";
import type {
  PassedAddresses,
  StatusMessage,
} from "./membership/status_message.ts";

/** What knowing the places of members needs. */
export interface WhereaboutsOptions {
  readonly config: Host["config"];
  /** Port of this node's link. */
  port(): number;
  /** All interfaces of this machine, and which discovery uses. */
  interfaces(): readonly InterfaceUse[];
  /** As `SshTunnels.callbackPort`. */
  callbackPort(address: LinkAddress): number | null | undefined;
  isMember(keyHash: KeyHash): boolean;
}

/**
 * Where this node and the others are: what is learned of addresses, what is
 * passed on, and what tunnels change about either.
 */
export class Whereabouts {
  readonly book: AddressBook;
  readonly #options: WhereaboutsOptions;
  /** Members that reach this node over a tunnel of theirs without a way back. */
  readonly #oneWay = new Set<KeyHash>();

  constructor(options: WhereaboutsOptions) {
    this.#options = options;
    this.book = new AddressBook((address) => this.isOwn(address));
  }

  /** Whether this node's own link is at an address. */
  isOwn({ host, port }: LinkAddress): boolean {
    const { config, interfaces } = this.#options;
    if (port !== this.#options.port()) return false;
    const plain = normalHost(host);
    if (isLoopback(plain)) {
      return isWildcard(config.linkHost) ||
        plain === normalHost(config.linkHost);
    }
    const bare = plain.split("%")[0] ?? plain;
    return config.advertise.includes(bare) ||
      interfaces().some(({ one: { addresses } }) =>
        addresses.some(({ address }) => address === bare)
      );
  }

  /**
   * Whether this node's own link is at an address somebody else names.
   *
   * @param text `host:port`.
   */
  isOwnText(text: string): boolean {
    const address = parseAddress(text);
    return address !== undefined && this.isOwn(address);
  }

  /** Where others reach this node's link, as it shows itself. */
  own(): readonly string[] {
    const { config, interfaces, port } = this.#options;
    const hosts = config.advertise.length > 0
      ? config.advertise
      : isWildcard(config.linkHost)
      ? interfaces().filter(({ use }) => use === "used")
        .flatMap(({ one }) => one.addresses.map(({ address }) => address))
        .filter((host) => !/^fe[89ab]/i.test(host))
      : [config.linkHost];
    return [...new Set(hosts)].map((host) =>
      formatAddress({ host, port: port() })
    );
  }

  /** This node's link as this machine itself reaches it. */
  ownLink(): LinkAddress {
    const { config, port } = this.#options;
    const host = config.linkHost === "0.0.0.0"
      ? "127.0.0.1"
      : config.linkHost === "::"
      ? "::1"
      : config.linkHost;
    return { host, port: port() };
  }

  /** Where a member is now: the address in use, then what it announces. */
  ofPeer({ channel, row }: Peer): readonly string[] {
    const inUse = channel.address;
    const announced = this.book.sightedAt(row.keyHash);
    const now = [...inUse === null ? [] : [inUse], ...announced];
    const all = now.length > 0 ? now : this.book.candidates(row.keyHash);
    return [...new Set(all.map(formatAddress))];
  }

  /** What a member's place means for work, or null where there is nothing to say. */
  note(keyHash: KeyHash): string | null {
    const back = this.#wayBack(keyHash);
    if (back === null) {
      return "worker only: its ssh server refuses a way back, so it gives no work to this node; allow AllowTcpForwarding there";
    }
    return this.#oneWay.has(keyHash)
      ? "it reaches this node over ssh one way: it gives work and takes none; allow AllowTcpForwarding in this machine's sshd"
      : null;
  }

  /**
   * What to say to a member that this node asks: where it is called back.
   *
   * @returns The port on the member's loopback where a tunnel leads back, null
   *   where a tunnel has no way back, undefined where it is no tunnel.
   */
  callback(keyHash: KeyHash): number | null | undefined {
    // Dialled at the end of the other side's tunnel: it knows the way itself.
    return this.#wayBack(keyHash) ??
      (this.book.tunnelsTo(keyHash).length > 0 ? null : undefined);
  }

  /**
   * Learn where a member is from a dial.
   *
   * @param address Where its key answered.
   * @param sighted All addresses of the sighting that led there; may be empty.
   */
  dialled(
    keyHash: KeyHash,
    address: LinkAddress,
    sighted: readonly LinkAddress[],
  ): void {
    if (this.#options.callbackPort(address) !== undefined) {
      return this.book.tunnel(keyHash, address);
    }
    if (sighted.length > 0) this.book.sighted(keyHash, sighted);
    this.book.hint(keyHash, address);
  }

  /** Learn where a member is from its own question. */
  heard(
    { address, keyHash }: LinkCaller,
    { callback, linkPort }: Pick<StatusQuery, "callback" | "linkPort">,
  ): void {
    this.#oneWay.delete(keyHash);
    if (callback === undefined || !isLoopback(address)) {
      const behindTunnel = isLoopback(address) &&
        this.book.tunnelsTo(keyHash).length > 0;
      if (linkPort === null || behindTunnel) return;
      return this.book.hint(keyHash, { host: address, port: linkPort });
    }
    if (callback !== null) {
      this.book.tunnel(keyHash, { host: "127.0.0.1", port: callback });
    } else if (this.book.candidates(keyHash).length === 0) {
      this.#oneWay.add(keyHash);
    }
  }

  /**
   * What a member is told of the others' places.
   *
   * @param caller Who asks.
   * @param callback What it said of a tunnel.
   * @param others All members but this node and the caller.
   */
  passOn(
    { address, keyHash }: LinkCaller,
    { callback }: Pick<StatusQuery, "callback">,
    others: readonly KeyHash[],
  ): readonly PassedAddresses[] {
    const sameMachine = isLoopback(address) && callback === undefined &&
      this.book.tunnelsTo(keyHash).length === 0;
    return others.map((other) => ({
      keyHash: other,
      addresses: this.book.passOn(other, sameMachine),
    }));
  }

  /** Learn what a member says of the others' places. */
  learn(peer: Peer, { addresses }: Pick<StatusMessage, "addresses">): void {
    const from = peer.channel.address;
    const sameMachine = from !== null && isLoopback(from.host) &&
      this.book.tunnelsTo(peer.row.keyHash).length === 0;
    for (const { addresses: said, keyHash } of addresses) {
      if (keyHash === peer.row.keyHash) continue;
      if (!this.#options.isMember(keyHash)) continue;
      for (const address of said) {
        if (sameMachine || !isLoopback(address.host)) {
          this.book.hint(keyHash, address);
        }
      }
    }
  }

  /** Forget a member. */
  forget(keyHash: KeyHash): void {
    this.book.forget(keyHash);
    this.#oneWay.delete(keyHash);
  }

  /** The way back of this node's own tunnel to a member; undefined without one. */
  #wayBack(keyHash: KeyHash): number | null | undefined {
    for (const end of this.book.tunnelsTo(keyHash)) {
      const port = this.#options.callbackPort(end);
      if (port !== undefined) return port;
    }
    return undefined;
  }
}

/** Whether a host stands for all addresses of the machine. */
export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}
