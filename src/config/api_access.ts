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
  { listen, apiKeys, trustLoopback }: Pick<
    NodeConfig,
    "listen" | "apiKeys" | "trustLoopback"
  >,
): ApiAccess {
  const dialled = listen.map(({ host, port }) => ({
    host: host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host,
    port,
  }));
  const { host, port } = dialled.find(({ host }) => isLoopback(host)) ??
    dialled[0] ?? { host: "127.0.0.1", port: 11411 };
  return {
    origin: `http://${formatHostAndPort(host, port)}`,
    apiKey: trustLoopback && isLoopback(host) ? null : apiKeys[0] ?? null,
  };
}
