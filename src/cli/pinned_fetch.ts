import { X509Certificate } from "node:crypto";
import { request } from "node:http";
import { connect, type TLSSocket } from "node:tls";

/**
 * `fetch` from the node on this machine over TLS, whatever name its
 * certificate is made out to: it must be the very certificate that the node's
 * configuration names. Nothing is sent before that is seen.
 *
 * @param url An `https:` address.
 * @param init Method, headers, body as text, and signal.
 * @param certificatePem What the node must prove itself by.
 * @returns The answer, its body a stream.
 * @throws {TypeError} As `fetch` does, when there is no connection or somebody else answers.
 */
export async function pinnedFetch(
  url: string,
  init: RequestInit,
  certificatePem: string,
): Promise<Response> {
  const { hostname, pathname, port, search } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const { signal } = init;
  const socket = await connected(host, Number(port || 443), signal ?? null);
  if (!isPinned(socket, certificatePem)) {
    socket.destroy();
    throw new TypeError(
      `What answers at ${host} does not prove itself by the node's certificate`,
    );
  }
  const body = new TextEncoder().encode(
    typeof init.body === "string" ? init.body : "",
  );
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const asked = request({
    createConnection: () => socket,
    method: init.method ?? "GET",
    path: `${pathname}${search}`,
    headers: {
      ...Object.fromEntries(new Headers(init.headers)),
      host: new URL(url).host,
      connection: "close",
      // Said for every method: a DELETE with a body would go out without its length.
      "content-length": body.length,
    },
  }, (message) => {
    const answer = new ReadableStream<Uint8Array>({
      start(controller) {
        message.on(
          "data",
          (chunk: Uint8Array) => controller.enqueue(new Uint8Array(chunk)),
        );
        message.on("end", () => controller.close());
        message.on("error", (error) => controller.error(error));
      },
      cancel: () => void message.destroy(),
    });
    resolve(new Response(answer, { status: message.statusCode ?? 502 }));
  });
  asked.on(
    "error",
    (error) => reject(new TypeError("The node broke off", { cause: error })),
  );
  const leave = () => void asked.destroy();
  signal?.addEventListener("abort", leave, { once: true });
  socket.once("close", () => signal?.removeEventListener("abort", leave));
  asked.end(body);
  return await promise;
}

function connected(
  host: string,
  port: number,
  signal: AbortSignal | null,
): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  // The certificate is compared below, which says more than any authority.
  const socket = connect({ host, port, rejectUnauthorized: false });
  const fail = (cause: unknown) => {
    socket.destroy();
    reject(new TypeError("No connection to the node", { cause }));
  };
  const leave = () => fail(signal?.reason);
  signal?.addEventListener("abort", leave, { once: true });
  socket.once("error", fail);
  socket.once("secureConnect", () => {
    signal?.removeEventListener("abort", leave);
    socket.removeListener("error", fail);
    resolve(socket);
  });
  return promise;
}

function isPinned(socket: TLSSocket, certificatePem: string): boolean {
  const { raw } = socket.getPeerCertificate();
  return raw !== undefined &&
    new X509Certificate(certificatePem).raw.equals(raw);
}
