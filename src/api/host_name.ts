/** A host as a Host header or an origin names it, without its port. */
export interface HostName {
  /** Lower case, no brackets, no final dot. */
  readonly name: string;
  /** Whether it is an IP address rather than a name. */
  readonly literal: boolean;
}

const NAME = /^[a-z0-9_](?:[a-z0-9_.-]{0,252}[a-z0-9_])?\.?$/;
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
const PORT = /^:\d{1,5}$/;

/**
 * Parse a Host header.
 *
 * @param header `name`, `name:port`, `1.2.3.4:port` or `[v6]:port`.
 * @returns The host, or undefined when it is none of these.
 */
export function parseHost(header: string): HostName | undefined {
  const text = header.trim().toLowerCase();
  const bracketed = /^\[([0-9a-f:.]+)(?:%[a-z0-9_.-]+)?\](.*)$/.exec(text);
  if (bracketed !== null) {
    const [, name = "", rest = ""] = bracketed;
    return rest === "" || PORT.test(rest) ? { name, literal: true } : undefined;
  }
  const colon = text.indexOf(":");
  const name = colon === -1 ? text : text.slice(0, colon);
  if (colon !== -1 && !PORT.test(text.slice(colon))) return undefined;
  if (IPV4.test(name)) return { name, literal: true };
  return NAME.test(name)
    ? { name: name.replace(/\.$/, ""), literal: false }
    : undefined;
}

/**
 * Tell whether a name or address is this machine's loopback.
 *
 * @param host A host name, or an address without brackets.
 * @returns True for `localhost`, 127.0.0.0/8, ::1 and its IPv4-mapped forms.
 */
export function isLoopback(host: string): boolean {
  if (host === "127.0.0.1") return true;
  const name = host.toLowerCase().replace(/^::ffff:/, "");
  if (name === "localhost" || name === "::1") return true;
  return IPV4.test(name) && name.startsWith("127.");
}
