import type { KeyHash } from "../identity/key_hash.ts";
import type { MemberRow } from "./member_row.ts";
import { Peer, type PeerOptions } from "./peer.ts";

/** The peers of this node, one for each row that may speak. Owns them. */
export class Peers implements AsyncDisposable {
  readonly #options: PeerOptions;
  readonly #peers = new Map<KeyHash, Peer>();
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  /** All peers, in the order in which they were met. */
  list(): readonly Peer[] {
    return [...this.#peers.values()];
  }

  /** The peer with a key, or undefined. */
  get(keyHash: KeyHash): Peer | undefined {
    return this.#peers.get(keyHash);
  }

  /**
   * Make the peers those of the rows: new ones are polled from now on, gone
   * ones let go with all their connections.
   *
   * @param rows Rows of others who may speak.
   * @returns Key hashes of peers that were let go.
   */
  follow(rows: readonly MemberRow[]): readonly KeyHash[] {
    const wanted = new Map(rows.map((row) => [row.keyHash, row]));
    const gone: KeyHash[] = [];
    for (const [keyHash, peer] of this.#peers) {
      if (wanted.has(keyHash)) continue;
      gone.push(keyHash);
      this.#peers.delete(keyHash);
      const leaving = peer[Symbol.asyncDispose]().finally(() =>
        this.#leaving.delete(leaving)
      );
      this.#leaving.add(leaving);
    }
    for (const [keyHash, row] of wanted) {
      if (!this.#peers.has(keyHash)) {
        this.#peers.set(keyHash, new Peer(row, this.#options));
      }
    }
    return gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.follow([]);
    await Promise.all(this.#leaving);
  }
}
