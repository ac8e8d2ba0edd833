import type { NodeId } from "@covey/core/domain";
import type { Entropy } from "@covey/core/platform";
import type { DnsRecord, PtrRecord } from "./message.ts";

/** The service type of the member link. */
export const SERVICE_TYPE = "_covey._tcp.local";
/** Where browsers of everything ask for types (RFC 6763, 9). */
const TYPE_ENUMERATION = "_services._dns-sd._udp.local";

/** RFC 6762, 10: records that name a host live for two minutes, others 75. */
const HOST_TTL_SECONDS = 120;
const OTHER_TTL_SECONDS = 4_500;

/** The names of one start of this node. They say nothing about host or cluster. */
export interface ServiceNames {
  /** First label of the instance. */
  readonly instance: string;
  readonly instanceName: string;
  readonly hostName: string;
}

/** What this node says on one interface. */
export interface OwnRecords {
  /** Records that others may hold too: pointers. */
  readonly shared: readonly PtrRecord[];
  /** Records that only this node may hold: SRV, TXT and addresses. */
  readonly unique: readonly DnsRecord[];
}

/**
 * Draw new names.
 *
 * @param entropy Where from: 50 bits for the instance, 60 for the host.
 */
export function drawServiceNames(entropy: Entropy): ServiceNames {
  const instance = drawLabel(entropy, 10);
  return {
    instance,
    instanceName: `${instance}.${SERVICE_TYPE}`,
    hostName: `${drawLabel(entropy, 12)}.local`,
  };
}

/**
 * Build the records for one interface.
 *
 * @param names Names of this start.
 * @param service Id and link port of this node.
 * @param addresses Addresses to be told, in canonical text.
 */
export function serviceRecords(
  names: ServiceNames,
  service: { readonly nodeId: NodeId; readonly port: number },
  addresses: readonly string[],
): OwnRecords {
  const head = {
    name: names.instanceName,
    ttlSeconds: OTHER_TTL_SECONDS,
    flush: true,
  };
  return {
    shared: [
      {
        type: "PTR",
        name: SERVICE_TYPE,
        ttlSeconds: OTHER_TTL_SECONDS,
        flush: false,
        target: names.instanceName,
      },
      {
        type: "PTR",
        name: TYPE_ENUMERATION,
        ttlSeconds: OTHER_TTL_SECONDS,
        flush: false,
        target: SERVICE_TYPE,
      },
    ],
    unique: [
      {
        ...head,
        type: "SRV",
        ttlSeconds: HOST_TTL_SECONDS,
        priority: 0,
        weight: 0,
        port: service.port,
        target: names.hostName,
      },
      { ...head, type: "TXT", entries: ["v=1", `id=${service.nodeId}`] },
      ...addresses.map((address): DnsRecord => ({
        type: address.includes(":") ? "AAAA" : "A",
        name: names.hostName,
        ttlSeconds: HOST_TTL_SECONDS,
        flush: true,
        address,
      })),
    ],
  };
}

/**
 * Take records back (RFC 6762, 10.1). The pointer of the type enumeration is
 * left out: others may still offer the service.
 *
 * @param own What was announced.
 */
export function goodbyeRecords(own: OwnRecords): readonly DnsRecord[] {
  return [
    ...own.shared.filter((record) => record.name === SERVICE_TYPE),
    ...own.unique,
  ].map((record) => ({ ...record, ttlSeconds: 0 }));
}

/**
 * Records worth sending beside an answer, so that the asker need not ask again (RFC 6763, 12).
 *
 * @param answers What is answered.
 * @param own What this node says on the interface.
 */
export function additionalRecords(
  answers: readonly DnsRecord[],
  own: OwnRecords,
): readonly DnsRecord[] {
  const isPointed = answers.some((record) =>
    record.type === "PTR" && record.name === SERVICE_TYPE
  );
  const isLocated = isPointed || answers.some((one) => one.type === "SRV");
  return own.unique.filter((record) => {
    if (answers.includes(record)) return false;
    const isAddress = record.type === "A" || record.type === "AAAA";
    return isAddress ? isLocated : isPointed;
  });
}

function drawLabel(entropy: Entropy, length: number): string {
  const letters = "abcdefghijklmnopqrstuvwxyz234567";
  return Array.from(entropy.bytes(length), (byte) => letters[byte % 32])
    .join("");
}
