/** A request to an engine's HTTP server. */
export interface HttpCall {
  /** Path with a leading slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or a form, whose content type `fetch` writes. */
  readonly body: string | FormData;
}

/** Talks to one engine's HTTP server. Disposing of it closes its connections. */
export interface HttpClient extends Disposable {
  /**
   * POST.
   *
   * @param signal Aborting it breaks the call off, its body included.
   * @throws {TypeError} When the server can not be reached or breaks off.
   */
  post(call: HttpCall, signal: AbortSignal): Promise<Response>;
}

/**
 * A client for a server on a Unix socket.
 *
 * @param socketPath Path of the socket, at most 100 bytes.
 * @returns The client; it connects when it is first used.
 */
export function createUnixHttpClient(socketPath: string): HttpClient {
  const client = Deno.createHttpClient({
    proxy: { transport: "unix", path: socketPath },
  });
  return {
    post: ({ path, headers, body }, signal) =>
      fetch(`http://localhost${path}`, {
        method: "POST",
        headers,
        body,
        signal,
        client,
      }),
    [Symbol.dispose]: () => client.close(),
  };
}

/** `fetch` with connections of its own. Disposing of it closes them. */
export interface OwnFetch extends Disposable {
  /** As the global one. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/** Make a `fetch` for servers on the network. */
export function createOwnFetch(): OwnFetch {
  const client = Deno.createHttpClient({});
  return {
    fetch: (url, init) => fetch(url, { ...init, client }),
    [Symbol.dispose]: () => client.close(),
  };
}
