/** A range of addresses: those that begin with the same bits. */
export interface Network {
  /** As text, for example `172.16.0.0/12`. */
  readonly text: string;
  /** The address, 4 or 16 bytes. */
  readonly base: readonly number[];
  /** How many leading bits must be the same; 0 for every address of the family. */
  readonly prefixBits: number;
}

/** Every address there is. */
export const EVERY_NETWORK: readonly Network[] = [
  { text: "0.0.0.0/0", base: [0, 0, 0, 0], prefixBits: 0 },
  { text: "::/0", base: new Array<number>(16).fill(0), prefixBits: 0 },
];

/**
 * Read a network in CIDR notation (RFC 4632, RFC 4291 section 2.3).
 *
 * @param text For example `172.16.0.0/12`, `fd00::/8`, or a single address.
 * @returns The network, or undefined when the text is none, or sets bits beyond its prefix.
 */
export function parseNetwork(text: string): Network | undefined {
  const [address = "", prefix, ...rest] = text.split("/");
  if (rest.length > 0) return undefined;
  const base = addressBytes(address);
  if (base === undefined) return undefined;
  const bits = base.length * 8;
  if (prefix !== undefined && !/^\d{1,3}$/.test(prefix)) return undefined;
  const prefixBits = prefix === undefined ? bits : Number(prefix);
  if (prefixBits > bits) return undefined;
  const sound = base.every((byte, at) => (byte & ~mask(prefixBits, at)) === 0);
  return sound
    ? { text: `${address.toLowerCase()}/${prefixBits}`, base, prefixBits }
    : undefined;
}

/**
 * Tell whether an address lies in a network. An IPv4 address that an IPv6
 * socket shows as `::ffff:a.b.c.d` counts as the IPv4 address that it is.
 *
 * @param address An address without brackets; a zone after `%` is ignored.
 * @param network The network.
 */
export function isInNetwork(address: string, network: Network): boolean {
  const bytes = addressBytes(address.replace(/%.*$/, ""));
  if (bytes === undefined || bytes.length !== network.base.length) return false;
  return bytes.every((byte, at) =>
    (byte & mask(network.prefixBits, at)) === network.base[at]
  );
}

/** The bits of byte `at` that a prefix covers. */
function mask(prefixBits: number, at: number): number {
  const covered = Math.min(8, Math.max(0, prefixBits - at * 8));
  return (0xff << (8 - covered)) & 0xff;
}

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

function addressBytes(text: string): number[] | undefined {
  if (!text.includes(":")) return ipv4Bytes(text);
  if (!/^[0-9a-f:.]{2,45}$/i.test(text) || !URL.canParse(`http://[${text}]/`)) {
    return undefined;
  }
  // The URL parser settles on one spelling, without dots.
  const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const [left = "", right] = canonical.split("::");
  const head = groups(left);
  const tail = groups(right ?? "");
  const gap = new Array<number>(16 - head.length - tail.length).fill(0);
  const bytes = [...head, ...gap, ...tail];
  return MAPPED.every((byte, at) => bytes[at] === byte)
    ? bytes.slice(12)
    : bytes;
}

function ipv4Bytes(text: string): number[] | undefined {
  if (!/^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/.test(text)) {
    return undefined;
  }
  const bytes = text.split(".").map(Number);
  return bytes.every((byte) => byte < 256) ? bytes : undefined;
}

function groups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    const value = parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
