/** What is used of a connection; the runtime's own are ones. */
export interface Socket {
  /** Read into a buffer: how many bytes came, or null at the end. */
  read(into: Uint8Array): Promise<number | null>;
  /** Write: how many bytes were taken. */
  write(bytes: Uint8Array): Promise<number>;
  /** Close it; what is read or written then fails. */
  close(): void;
}

/**
 * Connects to one server.
 *
 * @param signal Aborting it gives up.
 * @throws {Error} When there is no way.
 */
export type Dial = (signal: AbortSignal) => Promise<Socket>;

/**
 * The way to a Unix socket.
 *
 * @param path Its path.
 */
export function dialUnix(path: string): Dial {
  return () => Deno.connect({ transport: "unix", path });
}

/**
 * The way to a server on the network, over plain TCP.
 *
 * @param hostname Name or address, an IPv6 one without brackets.
 * @param port Its port.
 */
export function dialTcp(hostname: string, port: number): Dial {
  return async (signal) => {
    const socket = await Deno.connect({ hostname, port, signal });
    // Requests are written whole: waiting for more only delays their ends.
    socket.setNoDelay();
    return socket;
  };
}
