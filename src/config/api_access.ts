import type { Secret } from "../domain/mod.ts";
import { formatHostAndPort, isLoopback } from "./address.ts";
import type { NodeConfig } from "./node_config.ts";

/** How programs on this machine reach the node's API. */
export interface ApiAccess {
  /** For example `http://127.0.0.1:11411`. */
  readonly origin: string;
  /** The key to show, or null where loopback is trusted. */
  readonly apiKey: Secret | null;
}

/**
 * Find the way from this machine to its node.
 *
 * @param config The node's configuration; a loopback address is preferred.
 */
export function findApiAccess(
  { listen, apiKeys, tls, trustLoopback }: Pick<
    NodeConfig,
    "listen" | "apiKeys" | "tls" | "trustLoopback"
  >,
): ApiAccess {
  const dialled = listen.map(({ host, port }) => ({
    tls: isLoopback(host) ? null : tls,
    host: host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host,
    port,
  }));
  const { host, port, tls: spoken } =
    dialled.find(({ host }) => isLoopback(host)) ??
      dialled[0] ?? { host: "127.0.0.1", port: 11411, tls: null };
  return {
    origin: `${spoken === null ? "http" : "https"}://${
      formatHostAndPort(host, port)
    }`,
    apiKey: trustLoopback && isLoopback(host) ? null : apiKeys[0] ?? null,
  };
}
