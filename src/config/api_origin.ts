import { formatHostAndPort } from "./address.ts";
import type { ListenAddress } from "./node_config.ts";

/**
 * Say where programs on this machine reach the API.
 *
 * @param listen Addresses the API listens on.
 * @returns For example `http://127.0.0.1:11411`; loopback where it listens on all.
 */
export function apiOrigin(listen: readonly ListenAddress[]): string {
  const first = listen[0] ?? { host: "127.0.0.1", port: 11411 };
  const host = first.host === "0.0.0.0"
    ? "127.0.0.1"
    : first.host === "::"
    ? "::1"
    : first.host;
  return `http://${formatHostAndPort(host, first.port)}`;
}
