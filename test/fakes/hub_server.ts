import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

/** How the server misbehaves; whatever is not said is done right. */
export interface HubFaults {
  /** Answer ranged requests with 200 and the whole file. */
  ignoreRanges?: boolean;
  /** Send no Content-Length. */
  chunked?: boolean;
  /** Break off each body after that many bytes, that many times. */
  shortBodies?: { bytes: number; times: number };
  /** Answer with that status, that many times. */
  failing?: { status: number; times: number };
  /** Compress files that were not to be, whole ones or parts. */
  compressed?: "whole" | "parts";
  /** Answer every ranged request but the first byte's with 416. */
  refuseRanges?: { contentRange: boolean; times: number };
  /** Publish this digest instead of the file's own. */
  publishedSha256?: string;
  /** Send this as ETag. */
  etag?: string;
  /** Ask for this token. */
  token?: string;
  /** Send files from another origin. */
  redirectTo?: string;
  /** Called before each answer to a ranged request. */
  beforeRange?: (at: number) => void | Promise<void>;
}

/** A request as the server saw it. */
export interface HubRequest {
  readonly path: string;
  readonly range: string | null;
  readonly ifRange: string | null;
  readonly authorization: string | null;
}

/** A server on loopback that speaks the hub's layout and misbehaves on request. */
export interface HubServer extends AsyncDisposable {
  readonly origin: string;
  readonly files: Map<string, Uint8Array<ArrayBuffer>>;
  readonly requests: HubRequest[];
  faults: HubFaults;
}

const COMMIT = "0123456789abcdef0123456789abcdef01234567";

/**
 * Start a hub with one repository, `org/repo`.
 *
 * @param files Its files by path.
 */
export function startHub(
  files: Readonly<Record<string, Uint8Array<ArrayBuffer>>>,
): HubServer {
  const held = new Map(Object.entries(files));
  const requests: HubRequest[] = [];
  const closing = new AbortController();
  const { signal } = closing;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal, onListen: () => {} },
    (request) => answer(hub, request),
  );
  const hub: HubServer = {
    origin: `http://127.0.0.1:${server.addr.port}`,
    files: held,
    requests,
    faults: {},
    async [Symbol.asyncDispose]() {
      // In good order it would wait for ever for what a failed test holds back.
      closing.abort();
      await server.finished;
    },
  };
  return hub;
}

async function answer(hub: HubServer, request: Request): Promise<Response> {
  const { faults } = hub;
  const path = decodeURIComponent(new URL(request.url).pathname);
  const range = request.headers.get("range");
  hub.requests.push({
    path,
    range,
    ifRange: request.headers.get("if-range"),
    authorization: request.headers.get("authorization"),
  });
  if (faults.failing !== undefined && faults.failing.times > 0) {
    faults.failing.times--;
    return new Response("No", { status: faults.failing.status });
  }
  if (
    faults.token !== undefined && !path.startsWith("/cdn/") &&
    request.headers.get("authorization") !== `Bearer ${faults.token}`
  ) return new Response("No", { status: 401 });
  const page = /^\/api\/models\/org\/repo\/revision\/(.+)$/.exec(path);
  if (page !== null) return listing(hub, page[1] ?? "");
  const name = /^\/(?:org\/repo\/resolve\/[^/]+|cdn|files)\/(.+)$/.exec(path)
    ?.[1];
  const bytes = hub.files.get(name ?? "");
  if (bytes === undefined) return new Response("No", { status: 404 });
  if (faults.redirectTo !== undefined && !path.startsWith("/cdn/")) {
    return new Response(null, {
      status: 302,
      headers: {
        location: `${faults.redirectTo}/cdn/${name}`,
        "x-linked-etag": `"${publishedOf(hub, bytes)}"`,
      },
    });
  }
  if (range !== null && range !== "bytes=0-0") {
    await faults.beforeRange?.(Number(/\d+/.exec(range)?.[0]));
    // What is sent may be another file by now.
    return send(hub, hub.files.get(name ?? "") ?? bytes, request);
  }
  return send(hub, bytes, request);
}

function listing(hub: HubServer, revision: string): Response {
  if (revision !== "main" && revision !== COMMIT) {
    return new Response("No", { status: 404 });
  }
  return Response.json({
    sha: COMMIT,
    siblings: [
      { rfilename: "README.md", size: 5 },
      ...[...hub.files].map(([path, bytes]) => ({
        rfilename: path,
        size: bytes.length,
        lfs: { sha256: publishedOf(hub, bytes), size: bytes.length },
      })),
    ],
  });
}

function publishedOf(hub: HubServer, bytes: Uint8Array): string {
  return hub.faults.publishedSha256 ?? sha256Of(bytes);
}

const DIGESTS = new WeakMap<Uint8Array, string>();

/** SHA-256 in hexadecimal, counted once for each array. */
export function sha256Of(bytes: Uint8Array): string {
  const known = DIGESTS.get(bytes);
  if (known !== undefined) return known;
  const digest = createHash("sha256").update(bytes).digest("hex");
  DIGESTS.set(bytes, digest);
  return digest;
}

function send(
  hub: HubServer,
  bytes: Uint8Array<ArrayBuffer>,
  request: Request,
): Response {
  const { faults } = hub;
  const etag = faults.etag ?? `"${sha256Of(bytes).slice(0, 16)}"`;
  const match = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("range") ?? "");
  const stale = request.headers.get("if-range") ?? etag;
  const first = Number(match?.[1]);
  if (
    match === null || faults.ignoreRanges || stale !== etag ||
    faults.compressed === "whole"
  ) {
    return body(hub, bytes, 200, { etag });
  }
  const refused = match[2] !== "0" && (faults.refuseRanges?.times ?? 0) > 0;
  if (refused && faults.refuseRanges !== undefined) faults.refuseRanges.times--;
  if (first >= bytes.length || refused) {
    return new Response(null, {
      status: 416,
      headers: faults.refuseRanges?.contentRange === false
        ? {}
        : { "content-range": `bytes */${bytes.length}` },
    });
  }
  const last = Math.min(Number(match[2]), bytes.length - 1);
  return body(hub, bytes.subarray(first, last + 1), 206, {
    etag,
    "content-range": `bytes ${first}-${last}/${bytes.length}`,
  });
}

function body(
  { faults }: HubServer,
  bytes: Uint8Array<ArrayBuffer>,
  status: number,
  headers: Record<string, string>,
): Response {
  if (faults.compressed !== undefined) {
    return new Response(Uint8Array.from(gzipSync(bytes)), {
      status,
      headers: { ...headers, "content-encoding": "gzip" },
    });
  }
  const short = faults.shortBodies;
  const cut = short !== undefined && short.times > 0 &&
    bytes.length > short.bytes;
  if (cut) short.times--;
  if (!cut && faults.chunked !== true) {
    return new Response(bytes, { status, headers });
  }
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      if (!cut) {
        controller.enqueue(bytes);
        controller.close();
        return;
      }
      controller.enqueue(bytes.slice(0, short.bytes));
      controller.close();
    },
  });
  return new Response(stream, { status, headers });
}
