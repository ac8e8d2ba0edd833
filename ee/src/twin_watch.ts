import type { KeyHash } from "./identity/key_hash.ts";
import { formatAddress } from "./link/link_address.ts";
import type { LinkCalls } from "./link_calls.ts";
import type { Met } from "./membership/dialer.ts";
import type { Notes } from "./membership/notes.ts";

/** Notices that another running node holds this node's own identity. */
export class TwinWatch {
  readonly #bootId: string;
  readonly #calls: Pick<LinkCalls, "bootOn">;
  readonly #notes: Pick<Notes, "noteOwn">;
  /** Members that hold this node to be a copy: while one says so, it is noted. */
  readonly #heldBy = new Set<KeyHash>();

  constructor(
    bootId: string,
    calls: Pick<LinkCalls, "bootOn">,
    notes: Pick<Notes, "noteOwn">,
  ) {
    this.#bootId = bootId;
    this.#calls = calls;
    this.#notes = notes;
  }

  /** Own key and boot id is this node itself; another boot id is a copy of it. */
  async check({ address, channel }: Met, signal: AbortSignal): Promise<void> {
    const bootId = await this.#calls.bootOn(channel, signal);
    if (bootId !== this.#bootId) this.seenAt(formatAddress(address));
  }

  /**
   * A copy was met.
   *
   * @param other Its address, as text.
   */
  seenAt(other: string): void {
    this.#notes.noteOwn(
      "copy",
      `Another running node, at ${other}, holds this node's identity, as after copying a disk; run \`covey identity reset\` on the one that is the copy`,
    );
  }

  /**
   * A member holds this node to be a copy, or does so no more.
   *
   * @param reason What it said, or null when it takes this node for the real one.
   */
  heldBy(member: KeyHash, reason: string | null): void {
    if (reason !== null) {
      this.#heldBy.add(member);
      this.#notes.noteOwn("copy", reason);
    } else if (this.#heldBy.delete(member) && this.#heldBy.size === 0) {
      this.#notes.noteOwn("copy", null);
    }
  }
}
