/** Where a link can be dialled. */
export interface LinkAddress {
  /** An IP literal (IPv6 without brackets, with its zone where it has one) or a host name. */
  readonly host: string;
  readonly port: number;
}

/**
 * Write an address as people read it.
 *
 * @returns `host:port`, IPv6 in brackets.
 */
export function formatAddress(address: LinkAddress): string {
  return address.host.includes(":")
    ? `[${address.host}]:${address.port}`
    : `${address.host}:${address.port}`;
}

/**
 * Bring an IP address into the one form that comparisons use.
 *
 * @param host As a socket or a record gave it.
 * @returns Lower case, an IPv4-mapped IPv6 address as plain IPv4.
 */
export function normalHost(host: string): string {
  const lower = host.toLowerCase();
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(lower)?.[1] ?? lower;
}

/** Tell whether a host is this machine's loopback. */
export function isLoopback(host: string): boolean {
  const plain = normalHost(host);
  return plain === "::1" || plain === "localhost" || plain.startsWith("127.");
}

/** Tell whether two addresses are the same one. */
export function sameAddress(a: LinkAddress, b: LinkAddress): boolean {
  return a.port === b.port && normalHost(a.host) === normalHost(b.host);
}
