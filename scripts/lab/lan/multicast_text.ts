import type { SeenPacket } from "./pcap.ts";

const MDNS_PORT = 5353;
const DNS_HEAD = 12;

/** Those packets that are multicast DNS. */
export function multicastDns(
  packets: readonly SeenPacket[],
): readonly SeenPacket[] {
  return packets.filter(({ protocol, toPort }) =>
    protocol === "udp" && toPort === MDNS_PORT
  );
}

/**
 * Every text of three characters or more that was multicast: labels of names
 * and entries of TXT records, which have their length before them.
 *
 * @param packets Packets of a capture.
 * @returns The texts, in the order in which they passed, each as often as it did.
 */
export function multicastTexts(packets: readonly SeenPacket[]): string[] {
  const texts: string[] = [];
  for (const { payload } of multicastDns(packets)) {
    for (let at = DNS_HEAD; at < payload.length; at++) {
      const length = payload[at] ?? 0;
      const bytes = payload.subarray(at + 1, at + 1 + length);
      const isText = bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
      if (length < 3 || bytes.length < length || !isText) continue;
      texts.push(String.fromCharCode(...bytes));
      at += length;
    }
  }
  return texts;
}
