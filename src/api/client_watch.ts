import type { Clock } from "../platform/mod.ts";
import type { KernelTables } from "./port_holder.ts";

/** Both ends of a connection by their ports. */
export interface ConnectionPorts {
  readonly remotePort: number;
  readonly localPort: number;
}

/**
 * Notices clients that leave before their answer began.
 *
 * `Deno.serve` (2.9.6) does not tell: for a request whose body came in a packet
 * of its own, `request.signal` stays silent until something is written. A
 * socket whose other end was closed stands in the kernel's table all the same
 * (state CLOSE-WAIT, RFC 9293), so that is looked at while requests wait. Only
 * on Linux; elsewhere a client is found gone with the first byte of its answer.
 */
export interface ClientWatch extends Disposable {
  /**
   * Run something, telling it when its client has left.
   *
   * @param ports The client's connection.
   * @param run Gets a signal that aborts when the client has left.
   */
  during<Result>(
    ports: ConnectionPorts,
    run: (left: AbortSignal) => Promise<Result>,
  ): Promise<Result>;
}

const LOOK_EVERY_MS = 500;
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Connected, or asked to close by us while the other end still listens. */
const OPEN_STATES = new Set(["01", "04", "05"]);

/**
 * Make the watch.
 *
 * @param clock Its clock; nothing ticks while nobody waits.
 * @param tables The kernel's tables.
 * @returns The watch.
 */
export function createClientWatch(
  clock: Clock,
  tables: Pick<KernelTables, "readText">,
): ClientWatch {
  const waiting = new Map<AbortController, string>();
  let timer: Disposable | null = null;
  let looking = false;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    try {
      // Whoever begins to wait from now on is not in the tables read below.
      const asked = [...waiting];
      const texts = await Promise.all(
        TABLES.map((path) => tables.readText(path).catch(() => null)),
      );
      if (texts[0] === null || texts[0] === undefined) return;
      const open = openConnections(texts.join("\n"));
      for (const [client, key] of asked) {
        if (open.has(key)) continue;
        client.abort(new DOMException("The client left", "AbortError"));
      }
    } finally {
      looking = false;
    }
  }

  function stop(): void {
    timer?.[Symbol.dispose]();
    timer = null;
  }

  return {
    async during(ports, run) {
      const client = new AbortController();
      waiting.set(client, keyOf(ports.localPort, ports.remotePort));
      timer ??= clock.every(LOOK_EVERY_MS, look);
      try {
        return await run(client.signal);
      } finally {
        waiting.delete(client);
        if (waiting.size === 0) stop();
      }
    },
    [Symbol.dispose]: stop,
  };
}

/**
 * Read which connections are open at both ends.
 *
 * @param table Text of the kernel's socket tables (proc(5), /proc/net/tcp).
 * @returns Their port pairs, as `local:remote`.
 */
export function openConnections(table: string): ReadonlySet<string> {
  const open = new Set<string>();
  for (const line of table.split("\n")) {
    const [, local, remote, state] = line.trim().split(/\s+/, 4);
    if (local === undefined || remote === undefined) continue;
    if (!OPEN_STATES.has(state ?? "")) continue;
    open.add(keyOf(portOf(local), portOf(remote)));
  }
  return open;
}

function portOf(address: string): number {
  return parseInt(address.slice(address.lastIndexOf(":") + 1), 16);
}

function keyOf(localPort: number, remotePort: number): string {
  return `${localPort}:${remotePort}`;
}
