import { boundFetch, type Clock, isOwnNetwork } from "../platform/mod.ts";
import type { HttpClient } from "./http_client.ts";
import { createPlainClient } from "./plain_http/plain_client.ts";
import { dialTcp } from "./plain_http/socket.ts";

/** Connections of its own to servers on the network. Disposing of it closes them. */
export interface OwnFetch extends Disposable {
  /** As the global one. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * The cheap way to a server, where it is sound: plain HTTP that never goes
   * through a proxy.
   *
   * @param origin Scheme, host and port.
   * @returns Its client, the same each time, which is not the caller's to
   * dispose of; null where `fetch` is the way.
   */
  plain(origin: string): HttpClient | null;
}

/**
 * Make connections to servers on the network.
 *
 * @param clock Ends the rest of idle connections.
 */
export function createOwnFetch(clock: Clock): OwnFetch {
  const client = Deno.createHttpClient({});
  const clients = new Map<string, HttpClient>();
  return {
    fetch: (url, init) => boundFetch(url, { ...init, client }),
    plain(origin) {
      const known = clients.get(origin);
      if (known !== undefined) return known;
      const { protocol, hostname, host, port } = new URL(origin);
      if (protocol !== "http:" || !isOwnNetwork(hostname)) return null;
      const made = createPlainClient({
        dial: dialTcp(hostname.replace(/^\[|\]$/g, ""), Number(port || "80")),
        host,
        clock,
      });
      clients.set(origin, made);
      return made;
    },
    [Symbol.dispose]() {
      client.close();
      for (const one of clients.values()) one[Symbol.dispose]();
    },
  };
}
