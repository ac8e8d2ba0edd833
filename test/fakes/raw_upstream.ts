import { Buffer } from "node:buffer";
import { createServer, type Socket } from "node:net";

/** A request as its bytes were. */
export interface RawCall {
  readonly path: string;
  readonly head: string;
  readonly body: Buffer;
}

/** One connection of a server whose every write is the test's. */
export interface RawConnection {
  readonly call: RawCall;
  /** Resolves when the other side, or this one, has closed. */
  readonly closed: Promise<void>;
  /** Write at once, in a packet of its own. */
  write(bytes: Uint8Array | string): Promise<void>;
  /** Close in good order. */
  end(): void;
  /** Close with a reset. */
  reset(): void;
}

/** A server on loopback that speaks HTTP by hand. */
export interface RawUpstream extends AsyncDisposable {
  readonly url: string;
  readonly calls: readonly RawCall[];
}

/**
 * Start a server that lists models as OpenAI's API does, and lets a test answer
 * everything else byte by byte.
 *
 * @param models Names of what it has.
 * @param answer Writes the answer.
 */
export async function startRawUpstream(
  models: readonly string[],
  answer: (connection: RawConnection) => Promise<void>,
): Promise<RawUpstream> {
  const calls: RawCall[] = [];
  const sockets = new Set<Socket>();
  const list = JSON.stringify({ data: models.map((id) => ({ id })) });
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    let seen = Buffer.alloc(0);
    socket.on("data", (bytes) => {
      seen = Buffer.concat([seen, bytes]);
      const call = parseCall(seen);
      if (call === null) return;
      seen = Buffer.alloc(0);
      if (call.path === "/v1/models") {
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${list.length}\r\n\r\n${list}`,
        );
        return;
      }
      calls.push(call);
      answer(connectionOf(socket, call));
    });
  });
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve())
  );
  const address = server.address();
  if (address === null || typeof address === "string") {
    throw new Error("The server listens nowhere");
  }
  return {
    url: `http://127.0.0.1:${address.port}`,
    calls,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function parseCall(bytes: Buffer): RawCall | null {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const head = bytes.subarray(0, end).toString("latin1");
  const [, path = ""] = head.split(" ");
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  const rest = bytes.subarray(end + 4);
  if (length !== undefined) {
    return rest.length < Number(length) ? null : { path, head, body: rest };
  }
  if (!/^transfer-encoding: *chunked/im.test(head)) {
    return { path, head, body: rest };
  }
  const body = unchunk(rest);
  return body === null ? null : { path, head, body };
}

function unchunk(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  for (let at = 0;;) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return null;
    const size = parseInt(bytes.subarray(at, line).toString("latin1"), 16);
    if (size === 0) return Buffer.concat(parts);
    if (bytes.length < line + 4 + size) return null;
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 4 + size;
  }
}

function connectionOf(socket: Socket, call: RawCall): RawConnection {
  const closed = Promise.withResolvers<void>();
  socket.on("close", () => closed.resolve());
  return {
    call,
    closed: closed.promise,
    write: (bytes) =>
      new Promise((resolve) => socket.write(bytes, () => resolve())),
    end: () => socket.end(),
    reset: () => socket.resetAndDestroy(),
  };
}
