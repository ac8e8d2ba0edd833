import { parseIpAddress } from "../net/ip_address.ts";
import {
  type DnsMessage,
  type DnsRecord,
  queryOf,
  recordKey,
} from "./message.ts";

const TYPE_NUMBER = { A: 1, PTR: 12, TXT: 16, AAAA: 28, SRV: 33 } as const;

/**
 * Ask whether anybody holds the names that this node wants (RFC 6762, 8.1).
 * Answers by unicast are not asked for: on a port that several programs share,
 * they reach only one of them.
 *
 * @param unique The records that are to be held.
 */
export function probeOf(unique: readonly DnsRecord[]): DnsMessage {
  const names = new Set(unique.map((record) => record.name));
  return queryOf({
    questions: [...names].map((name) => ({
      name,
      type: "ANY",
      unicast: false,
    })),
    authorities: unique.map((record) => ({ ...record, flush: false })),
  });
}

/**
 * Judge another's probe for a name that this node is probing too: the
 * lexicographically later data win (RFC 6762, 8.2).
 *
 * @param probe What was heard.
 * @param unique The records that this node wants.
 * @param isOwn Says whether a record was sent by this node itself, on any interface.
 * @returns `lost` if this node must let the other go first.
 */
export function judgeProbe(
  probe: DnsMessage,
  unique: readonly DnsRecord[],
  isOwn: (key: string) => boolean,
): "lost" | "kept" {
  const names = new Set(unique.map((record) => record.name));
  for (const name of names) {
    const theirs = probe.authorities.filter((record) => record.name === name);
    if (theirs.every((record) => isOwn(recordKey(record)))) continue;
    const ours = unique.filter((record) => record.name === name);
    if (compareRecordSets(ours, theirs) < 0) return "lost";
  }
  return "kept";
}

/**
 * Say whether a response claims a name of ours for somebody else. What this
 * node itself said, on whichever interface and however it came back, does not.
 *
 * @param response What was heard.
 * @param unique The records that this node holds or wants.
 * @param isOwn Says whether a record was sent by this node itself.
 */
export function isConflict(
  response: DnsMessage,
  unique: readonly DnsRecord[],
  isOwn: (key: string) => boolean,
): boolean {
  return [...response.answers, ...response.additionals].some((theirs) =>
    theirs.ttlSeconds > 0 &&
    unique.some((ours) => ours.name === theirs.name) &&
    !isOwn(recordKey(theirs))
  );
}

/**
 * Compare two sets of records for one name as RFC 6762, 8.2.1 orders them.
 *
 * @param left One set.
 * @param right The other.
 * @returns Below 0 if `left` comes first, above 0 if `right` does.
 */
export function compareRecordSets(
  left: readonly DnsRecord[],
  right: readonly DnsRecord[],
): number {
  const ours = left.map(sortable).sort(compareBytes);
  const theirs = right.map(sortable).sort(compareBytes);
  for (let at = 0; at < Math.max(ours.length, theirs.length); at++) {
    const mine = ours[at];
    const other = theirs[at];
    if (mine === undefined) return -1;
    if (other === undefined) return 1;
    const order = compareBytes(mine, other);
    if (order !== 0) return order;
  }
  return 0;
}

function sortable(record: DnsRecord): readonly number[] {
  const type = TYPE_NUMBER[record.type];
  return [type >> 8, type & 0xff, ...dataBytes(record)];
}

function dataBytes(record: DnsRecord): readonly number[] {
  switch (record.type) {
    case "PTR":
      return nameBytes(record.target);
    case "SRV":
      return [
        ...[record.priority, record.weight, record.port]
          .flatMap((number) => [number >> 8, number & 0xff]),
        ...nameBytes(record.target),
      ];
    case "TXT":
      return record.entries.flatMap((entry) => [
        entry.length,
        ...Array.from(entry, (letter) => letter.charCodeAt(0)),
      ]);
    case "A":
    case "AAAA":
      return parseIpAddress(record.address)?.bytes ?? [];
    default:
      return record satisfies never;
  }
}

function nameBytes(name: string): readonly number[] {
  const encoder = new TextEncoder();
  const labels = name.split(".").flatMap((label) => {
    const bytes = encoder.encode(label);
    return [bytes.length, ...bytes];
  });
  return [...labels, 0];
}

function compareBytes(
  left: readonly number[],
  right: readonly number[],
): number {
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
