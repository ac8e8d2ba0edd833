import { accept, refuse, type Verdict } from "./setting.ts";

/** A host with the port said beside it, or null where none was. */
export interface HostAndPort {
  readonly host: string;
  readonly port: number | null;
}

const IPV4 =
  /^(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}$/;
const NAME =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*\.?$/;

/**
 * Tell whether a text is an IPv4 or IPv6 address (without brackets or zone).
 *
 * @param text The text.
 */
export function isIpAddress(text: string): boolean {
  return IPV4.test(text) || isIpv6(text);
}

/**
 * Tell whether only this machine can reach an address.
 *
 * @param host An address or a name.
 */
export function isLoopback(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  if (IPV4.test(host)) return host.startsWith("127.");
  if (!isIpv6(host)) return false;
  const canonical = canonicalIpv6(host);
  // The second form is how a URL writes ::ffff:127.0.0.0/104.
  return canonical === "::1" || /^::ffff:7f[0-9a-f]{2}:/.test(canonical);
}

/**
 * Read a port.
 *
 * @param text Decimal digits.
 */
export function port(text: string): Verdict<number> {
  if (!/^[0-9]{1,5}$/.test(text)) return refuse();
  const value = Number(text);
  return value <= 65_535 ? accept(value) : refuse();
}

/**
 * Read an IP address.
 *
 * @param text The address, an IPv6 one with or without brackets.
 */
export function ipAddress(text: string): Verdict<string> {
  const host = parseHost(text.toLowerCase());
  return host !== undefined && isIpAddress(host) ? accept(host) : refuse();
}

/**
 * Read a host without a port.
 *
 * @param text An address or a name.
 */
export function host(text: string): Verdict<string> {
  const found = parseHost(text.toLowerCase());
  return found === undefined ? refuse() : accept(found);
}

/**
 * Read a host with or without a port.
 *
 * @param text For example `10.0.0.5`, `[::1]:80` or `::1`.
 */
export function hostAndPort(text: string): Verdict<HostAndPort> {
  const lower = text.toLowerCase();
  const whole = parseHost(lower);
  if (whole !== undefined) return accept({ host: whole, port: null });
  const cut = lower.lastIndexOf(":");
  if (cut === -1) return refuse();
  const left = lower.slice(0, cut);
  const before = parseHost(left);
  const after = port(lower.slice(cut + 1));
  if (before === undefined || after.kind === "refused") return refuse();
  // Without its brackets, the last group of an IPv6 address looks like a port.
  if (isIpv6(left)) return refuse();
  return accept({ host: before, port: after.value });
}

/**
 * Write host and port as one text.
 *
 * @param host An address or a name.
 * @param port The port.
 */
export function formatHostAndPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function parseHost(lower: string): string | undefined {
  const inner = /^\[(.*)\]$/.exec(lower)?.[1];
  if (inner !== undefined) return isIpv6(inner) ? inner : undefined;
  if (isIpAddress(lower)) return lower;
  // All digits and dots, yet no address: a mistyped one, not a name.
  return NAME.test(lower) && !/^[0-9.]+$/.test(lower) ? lower : undefined;
}

function isIpv6(text: string): boolean {
  return /^[0-9a-f:.]{2,45}$/i.test(text) && text.includes(":") &&
    URL.canParse(`http://[${text}]/`);
}

function canonicalIpv6(text: string): string {
  return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}
