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
 *
 * The request's own signal costs as much as reading its body, and most answers
 * are there before anybody could leave: it is asked for after a tenth of a second.
 */
export interface ClientWatch extends Disposable {
  /**
   * Run something, telling it when its client has left.
   *
   * @param ports The client's connection.
   * @param also Makes what else tells that the client left, for one who waits longer.
   * @param run Gets a signal that aborts when the client has left.
   */
  during<Result>(
    ports: ConnectionPorts,
    also: () => AbortSignal,
    run: (left: AbortSignal) => Promise<Result>,
  ): Promise<Result>;
}

const BEAT_MS = 100;
/** Reading the tables takes a moment. */
const LOOK_EVERY_BEATS = 5;
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Connected, or asked to close by us while the other end still listens. */
const OPEN_STATES = new Set(["01", "04", "05"]);

/** One who waits. */
interface Waiting {
  readonly ports: ConnectionPorts;
  /** Null once it was made. */
  also: (() => AbortSignal) | null;
}

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
  const waiting = new Map<AbortController, Waiting>();
  let timer: Disposable | null = null;
  let beats = 0;
  let looking = false;

  function beat(): void {
    // Set and taken back for each request, the timer would cost more than the watch.
    if (waiting.size === 0) return stop();
    for (const [client, one] of waiting) {
      if (one.also === null) continue;
      listen(client, one.also());
      one.also = null;
    }
    beats = (beats + 1) % LOOK_EVERY_BEATS;
    if (beats === 0) look();
  }

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
      for (const [client, { ports }] of asked) {
        if (open.has(keyOf(ports.localPort, ports.remotePort))) continue;
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
    async during(ports, also, run) {
      const client = new AbortController();
      waiting.set(client, { ports, also });
      timer ??= clock.every(BEAT_MS, beat);
      try {
        return await run(client.signal);
      } finally {
        waiting.delete(client);
      }
    },
    [Symbol.dispose]: stop,
  };
}

/** Both live as long as the request. */
function listen(client: AbortController, signal: AbortSignal): void {
  const leave = () => client.abort(signal.reason);
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
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
