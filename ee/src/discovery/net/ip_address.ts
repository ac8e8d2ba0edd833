/** The two kinds of addresses. */
export type IpFamily = "IPv4" | "IPv6";

/** An address as bytes: 4 or 16 of them. */
export interface IpAddress {
  readonly family: IpFamily;
  readonly bytes: readonly number[];
}

/**
 * Parse an address.
 *
 * @param text Dotted IPv4, or IPv6 without zone.
 * @returns The address, or undefined when the text is none.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  const canonical = canonicalAddress(text);
  if (canonical === undefined) return undefined;
  if (!canonical.includes(":")) {
    return { family: "IPv4", bytes: canonical.split(".").map(Number) };
  }
  const [head = "", tail] = canonical.split("::");
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const zeros = Array(8 - before.length - after.length).fill(0);
  return {
    family: "IPv6",
    bytes: [...before, ...zeros, ...after]
      .flatMap((group) => [group >> 8, group & 0xff]),
  };
}

/**
 * Write an address in its one canonical form (RFC 5952 for IPv6).
 *
 * @param text Dotted IPv4, or IPv6 without zone.
 * @returns The form, or undefined when the text is no address.
 */
export function canonicalAddress(text: string): string | undefined {
  if (typeof text !== "string" || text.length > 45) return undefined;
  if (/^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/.test(text)) {
    return text.split(".").every((part) => Number(part) <= 255)
      ? text
      : undefined;
  }
  if (!/^[0-9a-f:.]+$/i.test(text) || !text.includes(":")) return undefined;
  return URL.parse(`http://[${text}]/`)?.hostname.slice(1, -1);
}

/**
 * Say whether an address lies in a network.
 *
 * @param address The address.
 * @param network Any address of the network.
 * @param prefixLength Bits that all its addresses share.
 */
export function isWithin(
  address: IpAddress,
  network: IpAddress,
  prefixLength: number,
): boolean {
  if (address.family !== network.family) return false;
  return address.bytes.every((byte, index) => {
    const bits = Math.min(Math.max(prefixLength - index * 8, 0), 8);
    const mask = (0xff << (8 - bits)) & 0xff;
    return (byte & mask) === ((network.bytes[index] ?? 0) & mask);
  });
}

/** What an address is good for. */
export type AddressScope = "loopback" | "link_local" | "unicast" | "unusable";

/**
 * Classify an address. Multicast, broadcast, unspecified and IPv4-mapped ones
 * are unusable as a peer's.
 *
 * @param address The address.
 */
export function addressScope({ family, bytes }: IpAddress): AddressScope {
  const [first = 0, second = 0] = bytes;
  if (family === "IPv4") {
    if (first === 127) return "loopback";
    if (first === 0 || first >= 224) return "unusable";
    return first === 169 && second === 254 ? "link_local" : "unicast";
  }
  if (first === 0xff) return "unusable";
  if (first === 0xfe && (second & 0xc0) === 0x80) return "link_local";
  if (bytes.slice(0, 10).every((byte) => byte === 0)) {
    const isLoopback = bytes.slice(10, 15).every((byte) => byte === 0) &&
      bytes[15] === 1;
    return isLoopback ? "loopback" : "unusable";
  }
  return "unicast";
}

function groupsOf(text: string): number[] {
  return text === "" ? [] : text.split(":").map((group) => parseInt(group, 16));
}
