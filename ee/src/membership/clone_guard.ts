import type { KeyHash } from "../identity/key_hash.ts";
import { formatAddress, type LinkAddress } from "../link/link_address.ts";
import type { Notes } from "./notes.ts";

/** Most boot ids that are remembered as copies' for one key. */
const MOST_COPIES = 8;

/** What the guard needs. */
export interface CloneGuardOptions {
  /**
   * Ask who is at an address for its boot id.
   *
   * @returns The boot id, or null when nobody with that key is there.
   */
  bootAt(
    keyHash: KeyHash,
    address: LinkAddress,
    signal: AbortSignal,
  ): Promise<string | null>;
  /** Name of a member, for people. */
  nameOf(keyHash: KeyHash): string;
  /** A member that speaks from another place than before has been believed. */
  onBelieved(keyHash: KeyHash): void;
  readonly notes: Notes;
}

interface Holder {
  readonly bootId: string;
  readonly address: LinkAddress | null;
}

interface Entry {
  holder: Holder;
  /** Boot ids of copies, and what each is told. */
  readonly copies: Map<string, string>;
  checking: boolean;
}

/**
 * Tells a member that has started again from a copy of it that runs beside it,
 * as after copying a disk: of one key and two boot ids, the first one seen
 * stays as long as it is there, and the other is refused. No clock is asked.
 */
export class CloneGuard implements AsyncDisposable {
  readonly #options: CloneGuardOptions;
  readonly #entries = new Map<KeyHash, Entry>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #life = new AbortController();

  constructor(options: CloneGuardOptions) {
    this.#options = options;
  }

  /**
   * Judge a status that came from an address.
   *
   * @returns Null when it is the member's own, else why it is not believed.
   */
  async judge(
    keyHash: KeyHash,
    bootId: string,
    address: LinkAddress | null,
    signal: AbortSignal,
  ): Promise<string | null> {
    const entry = this.#entries.get(keyHash);
    if (entry === undefined) {
      this.#entries.set(keyHash, {
        holder: { bootId, address },
        copies: new Map(),
        checking: false,
      });
      return null;
    }
    if (entry.holder.bootId === bootId) {
      entry.holder = { bootId, address: address ?? entry.holder.address };
      return null;
    }
    return await this.#decide(keyHash, entry, { bootId, address }, signal);
  }

  /**
   * What to answer to a member that asks.
   *
   * @param bootId The boot id that it states, or null.
   * @param address Where it says that it is, or null.
   * @returns Null to serve it, else what to tell it. One that is new is served
   *   until it is known whether the one before is still there.
   */
  refusal(
    keyHash: KeyHash,
    bootId: string | null,
    address: LinkAddress | null,
  ): string | null {
    const entry = this.#entries.get(keyHash);
    if (entry === undefined || bootId === null) return null;
    if (entry.holder.bootId === bootId) return null;
    this.#look(keyHash, entry, { bootId, address });
    return entry.copies.get(bootId) ?? null;
  }

  /** Whether a boot id is the one that is believed, or nothing speaks against it. */
  isBelieved(keyHash: KeyHash, bootId: string | null): boolean {
    const entry = this.#entries.get(keyHash);
    return entry === undefined || bootId === null ||
      entry.holder.bootId === bootId;
  }

  /** Where the member was that is believed, or null. */
  holderAt(keyHash: KeyHash): LinkAddress | null {
    return this.#entries.get(keyHash)?.holder.address ?? null;
  }

  /** Forget a member. */
  forget(keyHash: KeyHash): void {
    this.#entries.delete(keyHash);
    this.#options.notes.note(keyHash, null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new DOMException("The node is stopping", "AbortError"));
    await Promise.all(this.#running);
  }

  /** Look after the one before, in the background and one look at a time. */
  #look(keyHash: KeyHash, entry: Entry, other: Holder): void {
    if (entry.checking || this.#life.signal.aborted) return;
    entry.checking = true;
    const done = this.#decide(keyHash, entry, other, this.#life.signal)
      .then((refused) => {
        if (refused === null) this.#options.onBelieved(keyHash);
      }, () => {
        // The node is stopping.
      })
      .finally(() => {
        entry.checking = false;
        this.#running.delete(done);
      });
    this.#running.add(done);
  }

  async #decide(
    keyHash: KeyHash,
    entry: Entry,
    other: Holder,
    signal: AbortSignal,
  ): Promise<string | null> {
    const { bootAt, nameOf, notes } = this.#options;
    const { holder } = entry;
    const boot = holder.address === null
      ? null
      : await bootAt(keyHash, holder.address, signal);
    signal.throwIfAborted();
    if (entry.holder.bootId === other.bootId) return null;
    if (boot !== holder.bootId || entry.holder !== holder) {
      if (entry.holder !== holder) {
        return entry.copies.get(other.bootId) ?? null;
      }
      entry.holder = other;
      entry.copies.delete(other.bootId);
      if (entry.copies.size === 0) notes.note(keyHash, null);
      return null;
    }
    const [first, second] = [holder, other].map(({ address }) =>
      address === null ? "an unknown address" : formatAddress(address)
    );
    const told = `Two running nodes hold the identity of "${
      nameOf(keyHash)
    }", as after copying a disk: the one at ${first} was seen first and stays, the one at ${second} is refused; run \`covey identity reset\` there`;
    entry.copies.delete(other.bootId);
    entry.copies.set(other.bootId, told);
    for (const oldest of entry.copies.keys()) {
      if (entry.copies.size <= MOST_COPIES) break;
      entry.copies.delete(oldest);
    }
    notes.note(keyHash, told);
    return told;
  }
}
