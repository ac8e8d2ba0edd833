import { isIP } from "node:net";
import type { KeyHash } from "../identity/key_hash.ts";
import {
  isLoopback,
  type LinkAddress,
  sameAddress,
} from "../link/link_address.ts";

/** Most addresses kept of each kind and member. */
const MOST_KEPT = 4;

interface Entry {
  /** The member's key answered here; newest first. */
  met: readonly LinkAddress[];
  /** Somebody says it is here; newest first. */
  hints: readonly LinkAddress[];
}

/**
 * Where members may be. What others say is only a hint, used for dialling; an
 * address is kept over a restart and passed on only once a dial met the
 * member's own key there.
 */
export class AddressBook {
  readonly #entries = new Map<KeyHash, Entry>();

  /** Note that the member's key answered at an address. */
  met(keyHash: KeyHash, address: LinkAddress): void {
    const entry = this.#entryOf(keyHash);
    entry.met = [address, ...without(entry.met, address)].slice(0, MOST_KEPT);
    entry.hints = without(entry.hints, address);
  }

  /** Note where the member is said to be. */
  hint(keyHash: KeyHash, address: LinkAddress): void {
    const entry = this.#entryOf(keyHash);
    if (entry.met.some((known) => sameAddress(known, address))) return;
    entry.hints = [address, ...without(entry.hints, address)]
      .slice(0, MOST_KEPT);
  }

  /**
   * Where to dial a member: where it was last met, then what was heard since,
   * then older places.
   */
  candidates(keyHash: KeyHash): readonly LinkAddress[] {
    const entry = this.#entries.get(keyHash);
    if (entry === undefined) return [];
    const [last, ...older] = entry.met;
    return [...(last === undefined ? [] : [last]), ...entry.hints, ...older];
  }

  /** Where the member was met, newest first. */
  metAt(keyHash: KeyHash): readonly LinkAddress[] {
    return this.#entries.get(keyHash)?.met ?? [];
  }

  /**
   * What may be passed on to another node: IP addresses without a zone, since
   * names and zones mean something only where they were learned.
   *
   * @param keyHash Whose addresses.
   * @param overLoopback Whether the asker is on this machine; only then do
   *   loopback addresses mean anything to it.
   */
  passOn(keyHash: KeyHash, overLoopback: boolean): readonly LinkAddress[] {
    return this.metAt(keyHash).filter(({ host }) =>
      isIP(host) !== 0 && (overLoopback || !isLoopback(host))
    );
  }

  /** Forget a member. */
  forget(keyHash: KeyHash): void {
    this.#entries.delete(keyHash);
  }

  #entryOf(keyHash: KeyHash): Entry {
    const entry = this.#entries.get(keyHash) ?? { met: [], hints: [] };
    this.#entries.set(keyHash, entry);
    return entry;
  }
}

function without(
  list: readonly LinkAddress[],
  address: LinkAddress,
): readonly LinkAddress[] {
  return list.filter((known) => !sameAddress(known, address));
}
