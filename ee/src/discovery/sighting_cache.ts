import type { NodeId } from "@covey/core/domain";
import type { DnsMessage, DnsQuestion, DnsRecord } from "./dns/message.ts";
import { isOnLink, type NetworkInterface } from "./net/interface.ts";
import type { Sighting } from "./sighting.ts";
import {
  dropOld,
  type Entry,
  flushSet,
  instanceOf,
  isAddress,
  keepRecord,
  missingOf,
  viewOf,
} from "./sighting_entry.ts";

/** Instances kept over all interfaces; further ones replace only such as are incomplete. */
export const MOST_SIGHTINGS = 256;
/** Shares of its life after which a record is asked for again (RFC 6762, 5.2). */
const ASK_AGAIN_AT = [0.8, 0.85, 0.9, 0.95] as const;
const MOST_QUESTIONS = 16;
/** Times that records are asked for which did not come with the pointer. */
const MOST_COMPLETIONS = 3;

/**
 * What others have announced, by interface and instance, for as long as they
 * said. Time is an argument: monotonic milliseconds.
 */
export class SightingCache {
  readonly #ownId: NodeId;
  readonly #entries = new Map<string, Entry>();

  /**
   * @param ownId Id of this node, which is never reported.
   */
  constructor(ownId: NodeId) {
    this.#ownId = ownId;
  }

  /** Number of instances held. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Take in a response.
   *
   * @param response As heard; nothing in it is trusted.
   * @param hearing Interface that heard it.
   * @param nowMs Monotonic time.
   * @returns What has changed.
   */
  hear(
    response: DnsMessage,
    hearing: NetworkInterface,
    nowMs: number,
  ): readonly Sighting[] {
    const records = [...response.answers, ...response.additionals];
    const touched = new Set<Entry>();
    for (const record of records) {
      const instanceName = instanceOf(record);
      if (instanceName === undefined) continue;
      const entry = this.#entryOf(instanceName, hearing.name, record);
      if (entry === undefined) continue;
      keepRecord(entry, record, nowMs);
      touched.add(entry);
    }
    for (const record of records) {
      if (!isAddress(record)) continue;
      // An address that nobody here can have is not kept, though it may still
      // say below that older ones are void.
      const isKept = record.ttlSeconds === 0 ||
        isOnLink(hearing, record.address);
      for (const entry of this.#hostedBy(record.name, hearing.name)) {
        if (isKept) keepRecord(entry, record, nowMs);
        touched.add(entry);
      }
    }
    for (const record of records) {
      if (!record.flush || record.ttlSeconds === 0) continue;
      for (const entry of touched) flushSet(entry, record, nowMs);
    }
    return [...touched].flatMap((entry) => this.#settle(entry, nowMs));
  }

  /**
   * Drop what has run out.
   *
   * @param nowMs Monotonic time.
   * @returns What has changed by that.
   */
  expire(nowMs: number): readonly Sighting[] {
    return [...this.#entries.values()]
      .flatMap((entry) => this.#settle(entry, nowMs));
  }

  /**
   * Forget all that one interface has heard, without a word: its network is
   * another one now.
   */
  forget(interfaceName: string): void {
    for (const [key, entry] of this.#entries) {
      if (entry.interfaceName === interfaceName) this.#entries.delete(key);
    }
  }

  /**
   * Questions for records that are soon to run out or are missing. Each is
   * counted as asked.
   *
   * @param interfaceName Where they will be asked.
   * @param nowMs Monotonic time.
   */
  questionsDue(interfaceName: string, nowMs: number): readonly DnsQuestion[] {
    const questions = new Map<string, DnsQuestion>();
    const ask = (name: string, type: DnsQuestion["type"]): boolean => {
      const key = `${type} ${name}`;
      if (!questions.has(key) && questions.size >= MOST_QUESTIONS) return false;
      questions.set(key, { name, type, unicast: false });
      return true;
    };
    for (const entry of this.#entries.values()) {
      if (entry.interfaceName !== interfaceName) continue;
      if (entry.told === null) {
        if (entry.completions >= MOST_COMPLETIONS) continue;
        entry.completions++;
        for (const [name, type] of missingOf(entry)) ask(name, type);
        continue;
      }
      for (const [key, held] of entry.held) {
        const share = ASK_AGAIN_AT[held.asked];
        const lifeMs = held.record.ttlSeconds * 1_000;
        if (share === undefined || nowMs < held.heardMs + lifeMs * share) {
          continue;
        }
        if (!ask(held.record.name, held.record.type)) continue;
        entry.held.set(key, { ...held, asked: held.asked + 1 });
      }
    }
    return [...questions.values()];
  }

  /**
   * Pointers that need not be told again, with the life they have left.
   *
   * @param interfaceName Where the query will be asked.
   * @param nowMs Monotonic time.
   */
  knownPointers(interfaceName: string, nowMs: number): readonly DnsRecord[] {
    const known: DnsRecord[] = [];
    for (const entry of this.#entries.values()) {
      // An instance of which something is missing is asked for in full.
      if (entry.interfaceName !== interfaceName || entry.told === null) {
        continue;
      }
      for (const { record, expiresMs } of entry.held.values()) {
        const leftSeconds = Math.floor((expiresMs - nowMs) / 1_000);
        if (record.type === "PTR" && leftSeconds > record.ttlSeconds / 2) {
          known.push({ ...record, ttlSeconds: leftSeconds });
        }
      }
    }
    return known;
  }

  #entryOf(
    instanceName: string,
    interfaceName: string,
    record: DnsRecord,
  ): Entry | undefined {
    const key = `${interfaceName} ${instanceName}`;
    const present = this.#entries.get(key);
    if (present !== undefined || record.ttlSeconds === 0) return present;
    if (this.#entries.size >= MOST_SIGHTINGS && !this.#makeRoom()) {
      return undefined;
    }
    const entry: Entry = {
      instanceName,
      interfaceName,
      held: new Map(),
      told: null,
      completions: 0,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  /** Drop the oldest instance that never became complete: anybody can name those at no cost. */
  #makeRoom(): boolean {
    for (const [key, { told }] of this.#entries) {
      if (told === null) return this.#entries.delete(key);
    }
    return false;
  }

  #hostedBy(hostName: string, interfaceName: string): Entry[] {
    return [...this.#entries.values()].filter((entry) =>
      entry.interfaceName === interfaceName &&
      [...entry.held.values()].some(({ record }) =>
        record.type === "SRV" && record.target === hostName
      )
    );
  }

  /** Bring an entry up to date and say what has changed. */
  #settle(entry: Entry, nowMs: number): readonly Sighting[] {
    dropOld(entry, nowMs);
    if (entry.held.size === 0) {
      this.#entries.delete(`${entry.interfaceName} ${entry.instanceName}`);
    }
    const now = viewOf(entry, this.#ownId);
    const before = entry.told;
    if (JSON.stringify(before) === JSON.stringify(now)) return [];
    entry.told = now;
    const sightings: Sighting[] = [];
    if (before !== null && before.claimedId !== now?.claimedId) {
      const { instance, claimedId } = before;
      sightings.push({ kind: "goodbye", instance, claimedId });
    }
    if (now !== null) sightings.push(now);
    return sightings;
  }
}
