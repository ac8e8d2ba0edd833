import { isIP } from "node:net";
import type { KeyHash } from "../identity/key_hash.ts";
import {
  isLoopback,
  type LinkAddress,
  sameAddress,
} from "../link/link_address.ts";

/** Most addresses kept of each kind and member. */
const MOST_KEPT = 4;
/** Most addresses kept of one sighting. */
const MOST_SIGHTED = 8;

interface Entry {
  /** The member's key answered here; newest first. */
  met: readonly LinkAddress[];
  /** What multicast DNS says now, best first. */
  sighted: readonly LinkAddress[];
  /** Somebody says it is here; newest first. */
  hints: readonly LinkAddress[];
  /** Those of the others that are ends of tunnels on this machine. */
  tunnelEnds: readonly LinkAddress[];
}

/**
 * Where members may be. What others say is only a hint, used for dialling; an
 * address is kept over a restart and passed on only once a dial back met the
 * member's own key there. An address of this node itself is never learned, and
 * neither is a link-local one without its zone.
 */
export class AddressBook {
  readonly #entries = new Map<KeyHash, Entry>();
  readonly #isOwn: (address: LinkAddress) => boolean;

  /** @param isOwn Whether this node's own link is at an address. */
  constructor(isOwn: (address: LinkAddress) => boolean = () => false) {
    this.#isOwn = isOwn;
  }

  /** Note that the member's key answered at an address. */
  met(keyHash: KeyHash, address: LinkAddress): void {
    const entry = this.#entryOf(keyHash);
    entry.met = [address, ...without(entry.met, address)].slice(0, MOST_KEPT);
    entry.hints = without(entry.hints, address);
  }

  /** Note where the member is said to be. */
  hint(keyHash: KeyHash, address: LinkAddress): void {
    if (!this.#isLearnable(address)) return;
    const entry = this.#entryOf(keyHash);
    if (entry.met.some((known) => sameAddress(known, address))) return;
    entry.hints = [address, ...without(entry.hints, address)]
      .slice(0, MOST_KEPT);
  }

  /**
   * Note where multicast DNS says that the member is now. It replaces what it
   * said before.
   *
   * @param addresses Best first.
   */
  sighted(keyHash: KeyHash, addresses: readonly LinkAddress[]): void {
    this.#entryOf(keyHash).sighted = addresses
      .filter((address) => this.#isLearnable(address)).slice(0, MOST_SIGHTED);
  }

  /** Where multicast DNS says that the member is now. */
  sightedAt(keyHash: KeyHash): readonly LinkAddress[] {
    return this.#entries.get(keyHash)?.sighted ?? [];
  }

  /** Note that a tunnel ending on this machine leads to the member: good for dialling alone. */
  tunnel(keyHash: KeyHash, address: LinkAddress): void {
    const entry = this.#entryOf(keyHash);
    entry.tunnelEnds = [address, ...without(entry.tunnelEnds, address)]
      .slice(0, MOST_KEPT);
  }

  /** Note that a tunnel is gone: its end leads nowhere. */
  closeTunnel(address: LinkAddress): void {
    for (const entry of this.#entries.values()) {
      entry.tunnelEnds = without(entry.tunnelEnds, address);
      entry.met = without(entry.met, address);
      entry.hints = without(entry.hints, address);
    }
  }

  /** The tunnel ends that lead to a member, newest first. */
  tunnelsTo(keyHash: KeyHash): readonly LinkAddress[] {
    return this.#entries.get(keyHash)?.tunnelEnds ?? [];
  }

  /**
   * Where to dial a member: where it was last met, then what multicast DNS
   * says, then what was heard since, then older places, then tunnels.
   */
  candidates(keyHash: KeyHash): readonly LinkAddress[] {
    const entry = this.#entries.get(keyHash);
    if (entry === undefined) return [];
    const [last, ...older] = entry.met;
    return unique([
      ...(last === undefined ? [] : [last]),
      ...entry.sighted,
      ...entry.hints,
      ...older,
      ...entry.tunnelEnds,
    ]);
  }

  /** Where the member was met, newest first; tunnels aside, which end with this process. */
  metAt(keyHash: KeyHash): readonly LinkAddress[] {
    const entry = this.#entries.get(keyHash);
    return entry?.met.filter((address) =>
      !entry.tunnelEnds.some((end) => sameAddress(end, address))
    ) ?? [];
  }

  /**
   * What may be passed on to another node: IP addresses that mean the same
   * there, so no names, no link-local IPv6 and no tunnel ends.
   *
   * @param keyHash Whose addresses.
   * @param overLoopback Whether the asker is on this machine; only then do
   *   loopback addresses mean anything to it.
   */
  passOn(keyHash: KeyHash, overLoopback: boolean): readonly LinkAddress[] {
    return this.metAt(keyHash).filter(({ host }) =>
      isIP(host) !== 0 && !isLinkLocal(host) &&
      (overLoopback || !isLoopback(host))
    );
  }

  /** Forget a member. */
  forget(keyHash: KeyHash): void {
    this.#entries.delete(keyHash);
  }

  #isLearnable(address: LinkAddress): boolean {
    const isZoneless = isLinkLocal(address.host) && !address.host.includes("%");
    return !isZoneless && !this.#isOwn(address);
  }

  #entryOf(keyHash: KeyHash): Entry {
    const entry = this.#entries.get(keyHash) ??
      { met: [], sighted: [], hints: [], tunnelEnds: [] };
    this.#entries.set(keyHash, entry);
    return entry;
  }
}

/** IPv6 only: 169.254.0.0/16 needs no zone where there is one such network. */
function isLinkLocal(host: string): boolean {
  return /^fe[89ab][0-9a-f]:/i.test(host);
}

function unique(list: readonly LinkAddress[]): readonly LinkAddress[] {
  return list.filter((one, index) =>
    list.findIndex((other) => sameAddress(one, other)) === index
  );
}

function without(
  list: readonly LinkAddress[],
  address: LinkAddress,
): readonly LinkAddress[] {
  return list.filter((known) => !sameAddress(known, address));
}
