/** Record types that this node reads and writes; all others are dropped at the edge. */
export const RECORD_TYPES = ["PTR", "SRV", "TXT", "A", "AAAA"] as const;
/** One of `RECORD_TYPES`. */
export type RecordType = (typeof RECORD_TYPES)[number];

interface RecordHead {
  /** Owner name, lower case, without a final dot. */
  readonly name: string;
  /** Seconds the record may be kept; 0 is a goodbye. */
  readonly ttlSeconds: number;
  /** The cache-flush bit: this record set replaces what was known (RFC 6762, 10.2). */
  readonly flush: boolean;
}

/** Names the instances of a service. */
export interface PtrRecord extends RecordHead {
  readonly type: "PTR";
  readonly target: string;
}

/** Host and port of an instance. */
export interface SrvRecord extends RecordHead {
  readonly type: "SRV";
  readonly priority: number;
  readonly weight: number;
  readonly port: number;
  readonly target: string;
}

/** Attributes of an instance; one character of an entry is one byte. */
export interface TxtRecord extends RecordHead {
  readonly type: "TXT";
  readonly entries: readonly string[];
}

/** Address of a host, in canonical text. */
export interface AddressRecord extends RecordHead {
  readonly type: "A" | "AAAA";
  readonly address: string;
}

/** A DNS record of a type that discovery uses. */
export type DnsRecord = PtrRecord | SrvRecord | TxtRecord | AddressRecord;

/** A question. */
export interface DnsQuestion {
  readonly name: string;
  readonly type: RecordType | "ANY";
  /** The QU bit: an answer by unicast is welcome (RFC 6762, 5.4). */
  readonly unicast: boolean;
}

/** A message as it stands on the wire, cut to what discovery uses. */
export interface DnsMessage {
  readonly kind: "query" | "response";
  /** Zero but for one-shot queries of plain resolvers. */
  readonly id: number;
  /** More known answers follow in the next message (RFC 6762, 7.2). */
  readonly truncated: boolean;
  readonly questions: readonly DnsQuestion[];
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/** The one port of multicast DNS. */
export const MDNS_PORT = 5353;

const EMPTY = {
  id: 0,
  truncated: false,
  questions: [],
  answers: [],
  authorities: [],
  additionals: [],
} as const;

/**
 * Make a query.
 *
 * @param parts What differs from an empty message.
 */
export function queryOf(parts: Partial<Omit<DnsMessage, "kind">>): DnsMessage {
  return { ...EMPTY, ...parts, kind: "query" };
}

/**
 * Make a response.
 *
 * @param parts What differs from an empty message.
 */
export function responseOf(
  parts: Partial<Omit<DnsMessage, "kind">>,
): DnsMessage {
  return { ...EMPTY, ...parts, kind: "response" };
}

/**
 * What makes two records the same one: owner, type and data, not the TTL.
 *
 * @param record Any record.
 * @returns A text fit for a map's key.
 */
export function recordKey(record: DnsRecord): string {
  return `${record.type} ${record.name} ${dataText(record)}`;
}

function dataText(record: DnsRecord): string {
  switch (record.type) {
    case "PTR":
      return record.target;
    case "SRV":
      return `${record.priority} ${record.weight} ${record.port} ${record.target}`;
    case "TXT":
      return JSON.stringify(record.entries);
    case "A":
    case "AAAA":
      return record.address;
    default:
      return record satisfies never;
  }
}
