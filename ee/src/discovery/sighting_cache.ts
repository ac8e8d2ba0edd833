import { type NodeId, parseNodeId } from "@covey/core/domain";
import {
  type AddressRecord,
  type DnsMessage,
  type DnsQuestion,
  type DnsRecord,
  recordKey,
} from "./dns/message.ts";
import { SERVICE_TYPE } from "./dns/service_records.ts";
import { isOnLink, type NetworkInterface } from "./net/interface.ts";
import { addressScope, parseIpAddress } from "./net/ip_address.ts";
import type { Sighting } from "./sighting.ts";

/** Instances kept over all interfaces; further ones replace only such as are incomplete. */
export const MOST_SIGHTINGS = 256;
const MOST_ADDRESSES = 8;
/** Longer lives are cut to this: RFC 6762's own for records without a host. */
const LONGEST_TTL_SECONDS = 4_500;
/** A record set that came in this long together is one set (RFC 6762, 10.2). */
const FLUSH_GRACE_MS = 1_000;
/** Shares of its life after which a record is asked for again (RFC 6762, 5.2). */
const ASK_AGAIN_AT = [0.8, 0.85, 0.9, 0.95] as const;
const MOST_QUESTIONS = 16;
/** Times that records are asked for which did not come with the pointer. */
const MOST_COMPLETIONS = 3;

interface Held<Kind extends DnsRecord = DnsRecord> {
  readonly record: Kind;
  /** When it was first heard without a break: the newest address goes first. */
  readonly bornMs: number;
  readonly heardMs: number;
  readonly expiresMs: number;
  /** How often it has been asked for since it was heard. */
  readonly asked: number;
}

interface Entry {
  readonly instanceName: string;
  readonly interfaceName: string;
  /** All records of the instance and its host, by `recordKey`. */
  readonly held: Map<string, Held>;
  /** Last sighting told, or null. */
  told: Extract<Sighting, { kind: "seen" }> | null;
  /** How often its missing records have been asked for. */
  completions: number;
}

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
      keep(entry, record, nowMs);
      touched.add(entry);
    }
    for (const record of records) {
      if (!isAddress(record)) continue;
      // An address that nobody here can have is not kept, though it may still
      // say below that older ones are void.
      const isKept = record.ttlSeconds === 0 ||
        isOnLink(hearing, record.address);
      for (const entry of this.#hostedBy(record.name, hearing.name)) {
        if (isKept) keep(entry, record, nowMs);
        touched.add(entry);
      }
    }
    for (const record of records) {
      if (!record.flush || record.ttlSeconds === 0) continue;
      for (const entry of touched) flush(entry, record, nowMs);
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
    for (const [key, held] of entry.held) {
      if (held.expiresMs <= nowMs) entry.held.delete(key);
    }
    const hosts = new Set<string>();
    for (const { record } of entry.held.values()) {
      if (record.type === "SRV") hosts.add(record.target);
    }
    for (const [key, { record }] of entry.held) {
      if (isAddress(record) && !hosts.has(record.name)) entry.held.delete(key);
    }
    if (entry.held.size === 0) {
      this.#entries.delete(`${entry.interfaceName} ${entry.instanceName}`);
    }
    const now = this.#view(entry);
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

  #view(entry: Entry): Extract<Sighting, { kind: "seen" }> | null {
    const held = [...entry.held.values()];
    const isPointed = held.some(({ record }) => record.type === "PTR");
    const srv = newest(held, "SRV");
    const txt = newest(held, "TXT");
    if (!isPointed || srv === undefined || txt === undefined) return null;
    const claimedId = idOf(txt.entries);
    if (claimedId === undefined || claimedId === this.#ownId) {
      return null;
    }
    const addresses = addressesOf(held, srv.target, entry.interfaceName);
    if (srv.port === 0 || addresses.length === 0) return null;
    return {
      kind: "seen",
      instance: entry.instanceName.slice(0, -SERVICE_TYPE.length - 1),
      claimedId,
      addresses,
      port: srv.port,
      interfaceName: entry.interfaceName,
    };
  }
}

/** Take one record into an entry, or out of it. */
function keep(entry: Entry, record: DnsRecord, nowMs: number): void {
  const key = recordKey(record);
  if (record.ttlSeconds === 0) {
    entry.held.delete(key);
    return;
  }
  const ttlSeconds = Math.min(record.ttlSeconds, LONGEST_TTL_SECONDS);
  entry.held.set(key, {
    record: { ...record, ttlSeconds },
    bornMs: entry.held.get(key)?.bornMs ?? nowMs,
    heardMs: nowMs,
    expiresMs: nowMs + ttlSeconds * 1_000,
    asked: 0,
  });
  const addresses = [...entry.held].filter(([, { record }]) =>
    isAddress(record)
  ).sort(([, a], [, b]) => a.bornMs - b.bornMs);
  for (const [old] of addresses.slice(0, -MOST_ADDRESSES)) {
    entry.held.delete(old);
  }
}

/** Drop what a record with the cache-flush bit makes void. */
function flush(entry: Entry, by: DnsRecord, nowMs: number): void {
  const key = recordKey(by);
  for (const [other, { record, heardMs }] of entry.held) {
    const isSameSet = record.name === by.name && record.type === by.type;
    if (isSameSet && other !== key && nowMs - heardMs > FLUSH_GRACE_MS) {
      entry.held.delete(other);
    }
  }
}

function isAddress(record: DnsRecord): record is AddressRecord {
  return record.type === "A" || record.type === "AAAA";
}

/** The instance that a record belongs to, if it is one of the service's. */
function instanceOf(record: DnsRecord): string | undefined {
  const name = record.type === "PTR" && record.name === SERVICE_TYPE
    ? record.target
    : record.type === "SRV" || record.type === "TXT"
    ? record.name
    : undefined;
  if (name === undefined || !name.endsWith(`.${SERVICE_TYPE}`)) {
    return undefined;
  }
  const label = name.slice(0, -SERVICE_TYPE.length - 1);
  return label.length > 0 && !label.includes(".") ? name : undefined;
}

/** Names and types still needed before an instance can be dialled. */
function missingOf(
  entry: Entry,
): readonly (readonly [string, DnsQuestion["type"]])[] {
  const held = [...entry.held.values()];
  const srv = newest(held, "SRV");
  const txt = newest(held, "TXT");
  const hasAddress = held.some(({ record }) => isAddress(record));
  return [
    ...srv === undefined ? [[entry.instanceName, "SRV"] as const] : [],
    ...txt === undefined ? [[entry.instanceName, "TXT"] as const] : [],
    ...srv !== undefined && !hasAddress
      ? [[srv.target, "A"] as const, [srv.target, "AAAA"] as const]
      : [],
  ];
}

function newest<Kind extends "SRV" | "TXT">(
  held: readonly Held[],
  type: Kind,
): Extract<DnsRecord, { type: Kind }> | undefined {
  return held.filter(({ record }) => record.type === type)
    .sort((a, b) => b.heardMs - a.heardMs || b.bornMs - a.bornMs)
    .map(({ record }) => record as Extract<DnsRecord, { type: Kind }>)[0];
}

/** Keys are compared without case and the first of each counts (RFC 6763, 6.4). */
function idOf(entries: readonly string[]): NodeId | undefined {
  const read = new Map<string, string>();
  for (const entry of entries) {
    const cut = entry.indexOf("=");
    if (cut <= 0) continue;
    const key = entry.slice(0, cut).toLowerCase();
    if (!read.has(key)) read.set(key, entry.slice(cut + 1));
  }
  return read.get("v") === "1" ? parseNodeId(read.get("id") ?? "") : undefined;
}

function addressesOf(
  held: readonly Held[],
  hostName: string,
  interfaceName: string,
): readonly string[] {
  const found: { bornMs: number; rank: number; text: string }[] = [];
  for (const { record, bornMs } of held) {
    if (!isAddress(record)) continue;
    const parsed = parseIpAddress(record.address);
    if (record.name !== hostName || parsed === undefined) continue;
    const isLinkLocal = addressScope(parsed) === "link_local";
    const isIpv6 = parsed.family === "IPv6";
    found.push({
      bornMs,
      rank: (isLinkLocal ? 2 : 0) + (isIpv6 ? 1 : 0),
      text: isIpv6 && isLinkLocal
        ? `${record.address}%${interfaceName}`
        : record.address,
    });
  }
  return found.sort((a, b) =>
    b.bornMs - a.bornMs || a.rank - b.rank || (a.text < b.text ? -1 : 1)
  ).map(({ text }) => text);
}
