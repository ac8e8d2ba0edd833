/** One packet of a capture. Whatever has no port says what it is by `protocol`. */
export interface SeenPacket {
  /** Seconds since the epoch. */
  readonly atSeconds: number;
  readonly protocol: "arp" | "icmpv6" | "igmp" | "tcp" | "udp" | "other";
  /** Source and destination address, IPv6 in full without zero compression. */
  readonly from: string;
  readonly to: string;
  readonly fromPort: number;
  readonly toPort: number;
  readonly payload: Uint8Array;
}

/** What passed. */
export interface Captured {
  /** The frames as they were, one after the other. */
  readonly bytes: Uint8Array;
  readonly packets: readonly SeenPacket[];
}

const FILE_HEAD = 24;
const RECORD_HEAD = 16;
const ETHERNET_HEAD = 14;
const PROTOCOLS: Readonly<Record<number, SeenPacket["protocol"]>> = {
  2: "igmp",
  6: "tcp",
  17: "udp",
  58: "icmpv6",
};

/**
 * Read a pcap file of Ethernet frames.
 *
 * @param file What tcpdump wrote.
 * @returns Its frames and packets.
 */
export function readPcap(file: Uint8Array): Captured {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const packets: SeenPacket[] = [];
  const frames: Uint8Array[] = [];
  for (let at = FILE_HEAD; at + RECORD_HEAD <= file.length;) {
    const atSeconds = view.getUint32(at, true) +
      view.getUint32(at + 4, true) / 1e6;
    const length = view.getUint32(at + 8, true);
    at += RECORD_HEAD;
    const frame = file.subarray(at, at + length);
    at += length;
    if (frame.length < ETHERNET_HEAD) continue;
    frames.push(frame);
    packets.push({ atSeconds, ...readFrame(frame) });
  }
  return { bytes: join(frames), packets };
}

/**
 * The bytes that went over each TCP connection, one entry a direction, in the
 * order in which they passed.
 *
 * @param packets Packets of a capture.
 */
export function tcpStreams(
  packets: readonly SeenPacket[],
): Map<string, Uint8Array> {
  const pieces = new Map<string, Uint8Array[]>();
  for (const { from, fromPort, payload, protocol, to, toPort } of packets) {
    if (protocol !== "tcp" || payload.length === 0) continue;
    const name = `${from} ${fromPort} > ${to} ${toPort}`;
    pieces.set(name, [...pieces.get(name) ?? [], payload]);
  }
  return new Map([...pieces].map(([name, parts]) => [name, join(parts)]));
}

type Bare = Omit<SeenPacket, "atSeconds">;

function readFrame(frame: Uint8Array): Bare {
  const type = word(frame, 12);
  const body = frame.subarray(ETHERNET_HEAD);
  const none = {
    from: "",
    to: "",
    fromPort: 0,
    toPort: 0,
    payload: new Uint8Array(),
  };
  if (type === 0x0806) return { ...none, protocol: "arp" };
  if (type === 0x0800) return readIpv4(body);
  if (type === 0x86dd) return readIpv6(body);
  return { ...none, protocol: "other" };
}

function readIpv4(packet: Uint8Array): Bare {
  const head = ((packet[0] ?? 0) & 15) * 4;
  return readTransport(
    packet[9] ?? 0,
    packet.subarray(12, 16).join("."),
    packet.subarray(16, 20).join("."),
    packet.subarray(head, word(packet, 2)),
  );
}

function readIpv6(packet: Uint8Array): Bare {
  let next = packet[6] ?? 0;
  let at = 40;
  // Hop-by-hop options stand before the reports of multicast groups.
  if (next === 0) {
    next = packet[at] ?? 0;
    at += ((packet[at + 1] ?? 0) + 1) * 8;
  }
  return readTransport(
    next,
    ipv6Text(packet.subarray(8, 24)),
    ipv6Text(packet.subarray(24, 40)),
    packet.subarray(at, 40 + word(packet, 4)),
  );
}

function readTransport(
  number: number,
  from: string,
  to: string,
  body: Uint8Array,
): Bare {
  const protocol = PROTOCOLS[number] ?? "other";
  const head = protocol === "udp"
    ? 8
    : protocol === "tcp"
    ? ((body[12] ?? 0) >> 4) * 4
    : 0;
  return {
    protocol,
    from,
    to,
    fromPort: head === 0 ? 0 : word(body, 0),
    toPort: head === 0 ? 0 : word(body, 2),
    payload: body.subarray(head),
  };
}

function ipv6Text(bytes: Uint8Array): string {
  return Array.from(
    { length: 8 },
    (_, index) => word(bytes, 2 * index).toString(16),
  ).join(":");
}

function word(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(
    parts.reduce((sum, { length }) => sum + length, 0),
  );
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
