import { isIP } from "node:net";
import type { LinkAddress } from "./link_address.ts";

/** Port of a link where nothing else is said. */
export const DEFAULT_LINK_PORT = 11_412;

/**
 * Read an address as people write it.
 *
 * @param text `host`, `host:port`, an IPv6 address bare or in brackets.
 * @returns The address, or undefined when the text is none.
 */
export function parseAddress(text: string): LinkAddress | undefined {
  const plain = text.trim();
  if (plain.length > 300) return undefined;
  if (isIP(plain.split("%")[0] ?? "") !== 0) {
    return { host: plain, port: DEFAULT_LINK_PORT };
  }
  const found =
    /^(?:\[([0-9a-f:.]+(?:%\w+)?)\]|([a-z0-9._-]+))(?::(\d{1,5}))?$/i
      .exec(plain);
  const host = found?.[1] ?? found?.[2];
  const port = Number(found?.[3] ?? DEFAULT_LINK_PORT);
  if (host === undefined || port < 1 || port > 65_535) return undefined;
  if (found?.[1] !== undefined && isIP(host.split("%")[0] ?? "") !== 6) {
    return undefined;
  }
  return host.startsWith("-") ? undefined : { host, port };
}
