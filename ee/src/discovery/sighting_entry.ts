import { type NodeId, parseNodeId } from "@covey/core/domain";
import {
  type AddressRecord,
  type DnsQuestion,
  type DnsRecord,
  recordKey,
} from "./dns/message.ts";
import { SERVICE_TYPE } from "./dns/service_records.ts";
import { addressScope, parseIpAddress } from "./net/ip_address.ts";
import type { Sighting } from "./sighting.ts";

const MOST_ADDRESSES = 8;
/** Longer lives are cut to this: RFC 6762's own for records without a host. */
const LONGEST_TTL_SECONDS = 4_500;
/** A record set that came in this long together is one set (RFC 6762, 10.2). */
const FLUSH_GRACE_MS = 1_000;

/** A record that is held, with monotonic times. */
export interface Held {
  readonly record: DnsRecord;
  /** When it was first heard without a break: the newest address goes first. */
  readonly bornMs: number;
  readonly heardMs: number;
  readonly expiresMs: number;
  /** How often it has been asked for since it was heard. */
  readonly asked: number;
}

/** A sighting that says where a node is. */
export type Seen = Extract<Sighting, { kind: "seen" }>;

/** One instance as heard on one interface; it belongs to the cache, which alone changes it. */
export interface Entry {
  readonly instanceName: string;
  readonly interfaceName: string;
  /** All records of the instance and its host, by `recordKey`. */
  readonly held: Map<string, Held>;
  /** Last sighting told, or null. */
  told: Seen | null;
  /** How often its missing records have been asked for. */
  completions: number;
}

/**
 * Take one record into an entry, or out of it.
 *
 * @param entry Whose.
 * @param record As heard; a TTL of 0 takes it out.
 * @param nowMs Monotonic time.
 */
export function keepRecord(
  entry: Entry,
  record: DnsRecord,
  nowMs: number,
): void {
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

/**
 * Drop what a record with the cache-flush bit makes void.
 *
 * @param entry Whose.
 * @param by The record with the bit.
 * @param nowMs Monotonic time.
 */
export function flushSet(entry: Entry, by: DnsRecord, nowMs: number): void {
  const key = recordKey(by);
  for (const [other, { record, heardMs }] of entry.held) {
    const isSameSet = record.name === by.name && record.type === by.type;
    if (isSameSet && other !== key && nowMs - heardMs > FLUSH_GRACE_MS) {
      entry.held.delete(other);
    }
  }
}

/**
 * Drop what has run out, and the addresses of hosts that no SRV names any more.
 *
 * @param entry Whose.
 * @param nowMs Monotonic time.
 */
export function dropOld(entry: Entry, nowMs: number): void {
  const hosts = new Set<string>();
  for (const [key, { record, expiresMs }] of entry.held) {
    if (expiresMs <= nowMs) entry.held.delete(key);
    else if (record.type === "SRV") hosts.add(record.target);
  }
  for (const [key, { record }] of entry.held) {
    if (isAddress(record) && !hosts.has(record.name)) entry.held.delete(key);
  }
}

/**
 * Say what an entry amounts to.
 *
 * @param entry Which.
 * @param ownId Id of this node, which is never reported.
 * @returns The sighting, or null while something is missing or it is not for this node.
 */
export function viewOf(entry: Entry, ownId: NodeId): Seen | null {
  const held = [...entry.held.values()];
  const isPointed = held.some(({ record }) => record.type === "PTR");
  const srv = newest(held, "SRV");
  const txt = newest(held, "TXT");
  if (!isPointed || srv === undefined || txt === undefined) return null;
  const claimedId = idOf(txt.entries);
  if (claimedId === undefined || claimedId === ownId) return null;
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

/** Whether a record is an address. */
export function isAddress(record: DnsRecord): record is AddressRecord {
  return record.type === "A" || record.type === "AAAA";
}

/**
 * Name the instance that a record belongs to.
 *
 * @param record As heard.
 * @returns The instance's full name, or undefined when it is none of the service's.
 */
export function instanceOf(record: DnsRecord): string | undefined {
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
export function missingOf(
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
