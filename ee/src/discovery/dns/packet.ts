import type { Answer, Packet, Question } from "dns-packet";
import { Buffer } from "node:buffer";
import { canonicalAddress } from "../net/ip_address.ts";
import type { DnsMessage, DnsQuestion, DnsRecord } from "./message.ts";

/** Questions and records read from one message; the rest is left unread. */
export const MOST_QUESTIONS = 64;
export const MOST_RECORDS = 256;
const MOST_TXT_ENTRIES = 32;
const MOST_TXT_BYTES = 1_300;

const TRUNCATED = 0x0200;
/** Operation and response codes: a message with any of these set is ignored (RFC 6762, 18.3 and 18.11). */
const CODES = 0x780f;
const UNICAST_CLASS_IN = `UNKNOWN_${0x8001}`;
const UNICAST_CLASS_ANY = `UNKNOWN_${0x80ff}`;

/**
 * Take from a decoded packet what discovery uses. Everything is bounded, names
 * are put into lower case, and what could not be written back to the wire
 * (empty labels, bytes that are no UTF-8) is dropped.
 *
 * @param packet As decoded by dns-packet from whoever sent it.
 * @returns The message, or undefined for one to be ignored as a whole.
 */
export function readPacket(packet: Packet): DnsMessage | undefined {
  const flags = packet.flags ?? 0;
  if ((flags & CODES) !== 0) return undefined;
  if (packet.type !== "query" && packet.type !== "response") return undefined;
  let left = MOST_RECORDS;
  function take(answers: readonly Answer[] | undefined): DnsRecord[] {
    const records: DnsRecord[] = [];
    for (const answer of answers ?? []) {
      if (left-- <= 0) break;
      const record = readRecord(answer);
      if (record !== undefined) records.push(record);
    }
    return records;
  }
  return {
    kind: packet.type,
    id: packet.id ?? 0,
    truncated: (flags & TRUNCATED) !== 0,
    questions: (packet.questions ?? []).slice(0, MOST_QUESTIONS)
      .map(readQuestion).filter((question) => question !== undefined),
    answers: take(packet.answers),
    authorities: take(packet.authorities),
    additionals: take(packet.additionals),
  };
}

/**
 * Bring a message into the form that dns-packet encodes.
 *
 * @param message Any message of ours.
 */
export function writePacket(message: DnsMessage): Packet {
  return {
    type: message.kind,
    id: message.id,
    flags: (message.truncated ? TRUNCATED : 0) |
      (message.kind === "response" ? 0x0400 : 0),
    questions: message.questions.map(({ name, type, unicast }): Question => ({
      name,
      type: type as Question["type"],
      // dns-packet spells a class it does not know as UNKNOWN_n when it reads,
      // but can not write one; unicast questions are therefore never sent.
      class: unicast ? UNICAST_CLASS_IN as Question["class"] : "IN",
    })),
    answers: message.answers.map(writeRecord),
    authorities: message.authorities.map(writeRecord),
    additionals: message.additionals.map(writeRecord),
  };
}

/**
 * Size of a record on the wire at most, no name compressed.
 *
 * @param record Any record.
 */
export function wireBytes(record: DnsRecord): number {
  const head = byteLength(record.name) + 2 + 10;
  switch (record.type) {
    case "PTR":
      return head + byteLength(record.target) + 2;
    case "SRV":
      return head + 6 + byteLength(record.target) + 2;
    case "TXT":
      return head +
        (record.entries.reduce((sum, entry) => sum + entry.length + 1, 0) || 1);
    case "A":
      return head + 4;
    case "AAAA":
      return head + 16;
    default:
      return record satisfies never;
  }
}

function readQuestion(question: Question): DnsQuestion | undefined {
  const name = readName(question.name);
  const asked: string = question.class ?? "IN";
  const unicast = asked === UNICAST_CLASS_IN || asked === UNICAST_CLASS_ANY;
  if (name === undefined || !(unicast || asked === "IN" || asked === "ANY")) {
    return undefined;
  }
  const type: string = question.type;
  switch (type) {
    case "PTR":
    case "SRV":
    case "TXT":
    case "A":
    case "AAAA":
    case "ANY":
      return { name, type, unicast };
    default:
      return undefined;
  }
}

function readRecord(answer: Answer): DnsRecord | undefined {
  if (answer.type === "OPT") return undefined;
  const name = readName(answer.name);
  if (name === undefined || (answer.class ?? "IN") !== "IN") return undefined;
  const head = {
    name,
    ttlSeconds: answer.ttl ?? 0,
    flush: answer.flush === true,
  };
  switch (answer.type) {
    case "PTR": {
      const target = readName(answer.data);
      if (target === undefined) return undefined;
      return { ...head, type: "PTR", target };
    }
    case "SRV": {
      const { port, priority = 0, weight = 0 } = answer.data;
      const target = readName(answer.data.target);
      if (target === undefined) return undefined;
      return { ...head, type: "SRV", priority, weight, port, target };
    }
    case "TXT": {
      const entries = readTxt(answer.data);
      if (entries === undefined) return undefined;
      return { ...head, type: "TXT", entries };
    }
    case "A":
    case "AAAA": {
      const address = canonicalAddress(answer.data);
      const isIpv6 = address?.includes(":");
      if (address === undefined || isIpv6 !== (answer.type === "AAAA")) {
        return undefined;
      }
      return { ...head, type: answer.type, address };
    }
    default:
      return undefined;
  }
}

function readTxt(
  data: string | Buffer | readonly (string | Buffer)[],
): readonly string[] | undefined {
  const parts = typeof data === "string" || Buffer.isBuffer(data)
    ? [data]
    : data;
  if (parts.length > MOST_TXT_ENTRIES) return undefined;
  const entries = parts.map((part) => Buffer.from(part).toString("latin1"));
  const bytes = entries.reduce((sum, entry) => sum + entry.length + 1, 0);
  return bytes <= MOST_TXT_BYTES ? entries : undefined;
}

function readName(name: string): string | undefined {
  if (typeof name !== "string" || name.length > 255) return undefined;
  const lower = name.toLowerCase();
  if (/[\p{Cc}\uFFFD]/u.test(lower) || byteLength(lower) > 253) {
    return undefined;
  }
  const isWritable = lower.split(".").every((label) =>
    label.length > 0 && byteLength(label) <= 63
  );
  return isWritable ? lower : undefined;
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

function writeRecord(record: DnsRecord): Answer {
  const head = {
    name: record.name,
    ttl: record.ttlSeconds,
    flush: record.flush,
    class: "IN" as const,
  };
  switch (record.type) {
    case "PTR":
      return { ...head, type: "PTR", data: record.target };
    case "SRV": {
      const { priority, weight, port, target } = record;
      return { ...head, type: "SRV", data: { priority, weight, port, target } };
    }
    case "TXT":
      return {
        ...head,
        type: "TXT",
        data: record.entries.map((entry) => Buffer.from(entry, "latin1")),
      };
    case "A":
    case "AAAA":
      return { ...head, type: record.type, data: record.address };
    default:
      return record satisfies never;
  }
}
