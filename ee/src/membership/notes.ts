import type { Log } from "@covey/core/domain";
import type { KeyHash } from "../identity/key_hash.ts";

/** Most members that a note is kept on. */
const MOST_NOTES = 256;

/** What a note on this node is about: one at a time for each. */
export type OwnTopic = "admission" | "copy";

/**
 * What operators should know of members: each is logged once, and shown with
 * the member as long as it holds.
 */
export class Notes {
  readonly #log: Log;
  readonly #notes = new Map<KeyHash, string>();
  readonly #own = new Map<OwnTopic, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** What is to be said of this node, or null. */
  get own(): string | null {
    return this.#own.size === 0 ? null : [...this.#own.values()].join("; ");
  }

  /** What is to be said of a member, or null. */
  of(keyHash: KeyHash): string | null {
    return this.#notes.get(keyHash) ?? null;
  }

  /** Note something of this node, or with null that all is well again. */
  noteOwn(
    topic: OwnTopic,
    note: string | null,
    fields: Record<string, string> = {},
  ): void {
    if (note === (this.#own.get(topic) ?? null)) return;
    if (note === null) this.#own.delete(topic);
    else {
      this.#own.set(topic, note);
      this.#log.warn(note, fields);
    }
  }

  /** Note something of a member, or with null that all is well again. */
  note(
    keyHash: KeyHash,
    note: string | null,
    fields: Record<string, string> = {},
  ): void {
    const before = this.#notes.get(keyHash) ?? null;
    if (note === before) return;
    this.#notes.delete(keyHash);
    if (note === null) return;
    this.#notes.set(keyHash, note);
    this.#log.warn(note, fields);
    for (const oldest of this.#notes.keys()) {
      if (this.#notes.size <= MOST_NOTES) break;
      this.#notes.delete(oldest);
    }
  }
}
