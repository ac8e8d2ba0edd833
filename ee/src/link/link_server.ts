import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Fault, type Log, type NodeId, type Router } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import { type KeyHash, keyHashOfCertificate } from "../identity/key_hash.ts";
import { answerAttempt } from "./attempt_route.ts";
import { parseAttempt } from "./attempt_wire.ts";
import type { LinkCredentials } from "./dial.ts";
import { formatAddress, normalHost } from "./link_address.ts";
import { type LinkSocket, TLS_SOCKETS } from "./link_sockets.ts";
import { BOOT_HEADER } from "./member_channel.ts";
import { readBody } from "./read_body.ts";
import { TurnedAwayLog } from "./turned_away_log.ts";
import { type Visit, VisitorGate } from "./visitor_gate.ts";
import { Withdrawable, withdrawnAttempt } from "./withdraw_call.ts";
import { WireError } from "./wire_error.ts";

const ATTEMPT_LIMIT_BYTES = 80 * 1024 * 1024;
const ATTEMPT_LIMIT_MS = 60_000;
const SMALL_LIMIT_MS = 5000;
const TELL_LIMIT_BYTES = 64 * 1024;
const DRAIN_LIMIT_BYTES = 1024;
const MOST_CONNECTIONS = 512;
const ATTEMPTS = "/covey/1/attempts/";

/** Path of the admission exchange, the one thing a stranger may ask for. */
export const ADMISSION_PATH = "/covey/1/admission";
/** Path of a member's status. */
export const STATUS_PATH = "/covey/1/status";
/** Path where a member tells news. */
export const TELL_PATH = "/covey/1/tell";
/** Path where a member's operator has this node drained, or taken back. */
export const DRAIN_PATH = "/covey/1/drain";
/** Path where a member asks to be dialled back. */
export const CALL_BACK_PATH = "/covey/1/callback";
/** Path where a member for which this node was away has it test its engines. */
export const TEST_PATH = "/covey/1/test";

/** A connection whose other end has shown what it holds. */
type ShownSocket = Socket & LinkSocket;

/** Who sent a request, as TLS proved it. */
export interface LinkCaller {
  readonly keyHash: KeyHash;
  /** Remote IP address. */
  readonly address: string;
}

/** What a status request says of its sender. */
export interface StatusQuery {
  readonly member: NodeId;
  /** The link port the sender states, or null. */
  readonly linkPort: number | null;
  /**
   * Port on this machine's loopback where a tunnel leads back to the sender;
   * null where its tunnel has no way back, undefined where it comes over none.
   */
  readonly callback: number | null | undefined;
  /** Digest of the rows the sender has, or null. */
  readonly rowsDigest: string | null;
  /** Which of its starts this is, as the sender states it, or null. */
  readonly bootId: string | null;
}

/** What the link server asks of the rest of the cluster. */
export interface LinkServerOptions {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  readonly credentials: LinkCredentials;
  readonly clock: Clock;
  readonly log: Log;
  /** The member with that key, looked up for every request. */
  member(keyHash: KeyHash): NodeId | undefined;
  readonly admission: {
    bodyLimitBytes(keyHash: KeyHash): number;
    receive(body: Uint8Array, caller: LinkCaller): Promise<Uint8Array>;
  };
  /** The status as JSON. */
  status(caller: LinkCaller, query: StatusQuery): Uint8Array;
  /**
   * Read a member's news.
   *
   * @returns Takes them; called once the answer is out, since they may be that
   *   the sender is gone.
   * @throws {WireError} When they can not be read.
   */
  tell(caller: LinkCaller, body: Uint8Array): () => void;
  /**
   * Take no more work, or take it again, because a member asks for it.
   *
   * @returns What this node does now, as JSON.
   * @throws {WireError} When the request can not be read.
   */
  drain?(caller: LinkCaller, body: Uint8Array): Promise<Uint8Array>;
  /** Test this node's engines; what came of it, as JSON. Absent where nothing can be tested. */
  test?(): Promise<Uint8Array>;
  /** Dial the sender back; what came of it, as JSON. */
  callBack(caller: LinkCaller, query: StatusQuery): Promise<Uint8Array>;
  /**
   * Why a member's key is not enough: the caller is a copy of a node that
   * runs. Null to go on.
   */
  copyOf?(caller: LinkCaller, query: StatusQuery): string | null;
  readonly serve: Router["serve"];
  /** Who answers further paths: copies of models, and engine packs; absent for nobody. */
  readonly others?: readonly {
    /** Whether a path is one of its. */
    owns(path: string): boolean;
    answer(
      path: string,
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<void>;
  }[];
}

/**
 * This node's end of the member link: HTTP over mutual TLS 1.3. Who calls is
 * read from the certificate of the connection and looked up for every request;
 * whether TLS calls a connection authorized is never asked, since a resumed
 * session of anyone's says yes.
 */
export class LinkServer implements AsyncDisposable {
  /** The port it listens on. */
  readonly port: number;
  readonly #server: Server;
  readonly #options: LinkServerOptions;
  readonly #gate: VisitorGate;
  readonly #turnedAway: TurnedAwayLog;
  readonly #sockets = new Map<string, Socket>();
  readonly #visits = new Map<string, Visit>();
  readonly #keys = new WeakMap<Socket, KeyHash>();
  readonly #running = new Set<Promise<void>>();
  readonly #withdrawable = new Withdrawable();

  /**
   * Listen.
   *
   * @throws {Fault} `conflict` when the port can not be had; the message names it.
   */
  static async open(options: LinkServerOptions): Promise<LinkServer> {
    const { credentials, host, port } = options;
    const sockets = credentials.sockets ?? TLS_SOCKETS;
    const server = sockets.createServer(credentials, {
      requestLimitMs: ATTEMPT_LIMIT_MS,
    });
    server.maxConnections = MOST_CONNECTIONS;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => reject(listenError(error, host, port)));
      server.listen(port, host, resolve);
    });
    server.removeAllListeners("error");
    return new LinkServer(server, options);
  }

  private constructor(server: Server, options: LinkServerOptions) {
    this.#server = server;
    this.#options = options;
    this.#gate = new VisitorGate(options.clock);
    this.#turnedAway = new TurnedAwayLog(options.log);
    this.port = (server.address() as AddressInfo).port;
    server.on(
      "error",
      (error) =>
        options.log.error("The member link's listener failed", {
          error: error.message,
        }),
    );
    // Before TLS hears of it: what it once began for a connection it keeps
    // until the handshake's time is up, however soon the connection ends.
    const emit = server.emit.bind(server);
    server.emit = (event: string | symbol, ...values: unknown[]): boolean => {
      const [socket] = values;
      if (event === "connection" && !this.#enter(socket as Socket)) return true;
      return Reflect.apply(emit, server, [event, ...values]);
    };
    server.on("secureConnection", (socket: ShownSocket) => this.#greet(socket));
    server.on("clientError", (_error, socket) => socket.destroy());
    server.on("request", (request, response) => {
      const done = this.#handle(request, response).catch((error) => {
        options.log.debug("A request on the member link ended early", {
          error: error instanceof Error ? error.message : String(error),
        });
        response.destroy();
      }).finally(() => this.#running.delete(done));
      this.#running.add(done);
    });
  }

  /** Connections of strangers that are open now. */
  get strangers(): number {
    return this.#gate.strangers;
  }

  /** Close every connection of a key, because its member was removed. */
  expel(keyHash: KeyHash): void {
    for (const socket of this.#sockets.values()) {
      if (this.#keys.get(socket) === keyHash) socket.destroy();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) =>
      this.#server.close(() => resolve())
    );
    for (const socket of this.#sockets.values()) socket.destroy();
    this.#server.closeAllConnections();
    await Promise.all(this.#running);
    await closed;
  }

  /** Returns false when there is no room for it, and it was closed. */
  #enter(socket: Socket): boolean {
    const key = nameOf(socket);
    const address = normalHost(socket.remoteAddress ?? "");
    const visit = this.#gate.enter(address, () => {
      (this.#sockets.get(key) ?? socket).destroy();
    });
    if (visit === undefined) {
      this.#turnAway(socket, address);
      return false;
    }
    this.#sockets.set(key, socket);
    this.#visits.set(key, visit);
    socket.once("close", () => {
      visit[Symbol.dispose]();
      this.#visits.delete(key);
      this.#sockets.delete(key);
    });
    return true;
  }

  #greet(socket: ShownSocket): void {
    const key = nameOf(socket);
    const visit = this.#visits.get(key);
    if (visit === undefined) {
      socket.destroy();
      return;
    }
    this.#sockets.set(key, socket);
    const keyHash = this.#keyOf(socket);
    if (keyHash !== undefined && this.#options.member(keyHash) !== undefined) {
      visit.becomeMember();
    } else if (!visit.becomeStranger()) {
      this.#turnAway(socket, normalHost(socket.remoteAddress ?? ""));
    }
  }

  #turnAway(socket: Socket, address: string): void {
    socket.destroy();
    this.#turnedAway.note(address, this.#options.clock.monotonic());
  }

  async #handle(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const socket = request.socket as ShownSocket;
    const keyHash = this.#keyOf(socket);
    if (keyHash === undefined) {
      return refuse(response, 401, "A certificate is needed here");
    }
    const caller = {
      keyHash,
      address: normalHost(socket.remoteAddress ?? ""),
    };
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    if (request.method === "POST" && path === ADMISSION_PATH) {
      return await this.#admit(request, response, caller);
    }
    const member = this.#options.member(keyHash);
    if (member === undefined) {
      return refuse(response, 403, "Only members may ask for this");
    }
    this.#visits.get(nameOf(socket))?.becomeMember();
    const copy = this.#options.copyOf?.(caller, statusQuery(request, member)) ??
      null;
    if (copy !== null) return refuse(response, 409, copy);
    if (request.method === "GET" && path === STATUS_PATH) {
      return reply(
        response,
        this.#options.status(caller, statusQuery(request, member)),
      );
    }
    const withdrawn = withdrawnAttempt(path);
    if (request.method === "POST" && withdrawn !== undefined) {
      const word = await this.#withdrawable.withdraw(withdrawn, member);
      return reply(response, new TextEncoder().encode(word), "text/plain");
    }
    if (request.method === "POST" && path === TELL_PATH) {
      return await this.#tell(request, response, caller);
    }
    const { drain } = this.#options;
    if (request.method === "POST" && path === DRAIN_PATH && drain) {
      return await this.#drain(request, response, caller, drain);
    }
    const { test } = this.#options;
    if (request.method === "POST" && path === TEST_PATH && test) {
      return reply(response, await test());
    }
    if (request.method === "POST" && path === CALL_BACK_PATH) {
      const query = statusQuery(request, member);
      return reply(response, await this.#options.callBack(caller, query));
    }
    if (request.method === "POST" && path.startsWith(ATTEMPTS)) {
      const engine = decodeEngine(path.slice(ATTEMPTS.length));
      return await this.#attempt(request, response, { member, engine });
    }
    const other = this.#options.others?.find((one) => one.owns(path));
    if (other !== undefined) {
      return await other.answer(path, request, response);
    }
    refuse(response, 404, "There is nothing here");
  }

  async #admit(
    request: IncomingMessage,
    response: ServerResponse,
    caller: LinkCaller,
  ): Promise<void> {
    const { admission, clock } = this.#options;
    const limits = {
      maxBytes: admission.bodyLimitBytes(caller.keyHash),
      limitMs: SMALL_LIMIT_MS,
    };
    const body = await readBody(request, limits, clock);
    if (body.kind !== "body") return refuseBody(response, body.kind);
    reply(response, await admission.receive(body.bytes, caller));
  }

  async #drain(
    request: IncomingMessage,
    response: ServerResponse,
    caller: LinkCaller,
    drain: NonNullable<LinkServerOptions["drain"]>,
  ): Promise<void> {
    const limits = { maxBytes: DRAIN_LIMIT_BYTES, limitMs: SMALL_LIMIT_MS };
    const body = await readBody(request, limits, this.#options.clock);
    if (body.kind !== "body") return refuseBody(response, body.kind);
    try {
      reply(response, await drain(caller, body.bytes));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      refuse(response, 400, error.message);
    }
  }

  async #tell(
    request: IncomingMessage,
    response: ServerResponse,
    caller: LinkCaller,
  ): Promise<void> {
    const { clock, tell } = this.#options;
    const limits = { maxBytes: TELL_LIMIT_BYTES, limitMs: SMALL_LIMIT_MS };
    const body = await readBody(request, limits, clock);
    if (body.kind !== "body") return refuseBody(response, body.kind);
    let take: () => void;
    try {
      take = tell(caller, body.bytes);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      return refuse(response, 400, error.message);
    }
    const sent = new Promise<void>((resolve) => {
      response.once("finish", resolve);
      response.once("close", resolve);
    });
    reply(response, new TextEncoder().encode("{}"));
    await sent;
    take();
  }

  async #attempt(
    request: IncomingMessage,
    response: ServerResponse,
    { member, engine }: { member: NodeId; engine: string | undefined },
  ): Promise<void> {
    const { clock, log, serve } = this.#options;
    const limits = {
      maxBytes: ATTEMPT_LIMIT_BYTES,
      limitMs: ATTEMPT_LIMIT_MS,
    };
    const body = await readBody(request, limits, clock);
    if (body.kind !== "body") return refuseBody(response, body.kind);
    let attempt;
    try {
      attempt = parseAttempt(body.bytes);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      return refuse(response, 400, error.message);
    }
    if (engine === undefined || attempt.entry !== member) {
      return refuse(response, 400, "The attempt names another node or none");
    }
    const route = { serve, withdrawable: this.#withdrawable, clock, log };
    await answerAttempt(route, engine, attempt, response);
  }

  #keyOf(socket: ShownSocket): KeyHash | undefined {
    const known = this.#keys.get(socket);
    if (known !== undefined) return known;
    const raw = socket.getPeerCertificate()?.raw;
    const keyHash = raw === undefined ? undefined : keyHashOfCertificate(raw);
    if (keyHash !== undefined) this.#keys.set(socket, keyHash);
    return keyHash;
  }
}

function nameOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

function statusQuery(request: IncomingMessage, member: NodeId): StatusQuery {
  const callback = request.headers["x-covey-callback"];
  const digest = request.headers["x-covey-rows"];
  const bootId = request.headers[BOOT_HEADER];
  return {
    member,
    linkPort: portOf(request.headers["x-covey-link-port"]),
    callback: callback === undefined ? undefined : portOf(callback),
    rowsDigest: typeof digest === "string" ? digest.slice(0, 64) : null,
    bootId: typeof bootId === "string" ? bootId.slice(0, 64) : null,
  };
}

function portOf(text: string | readonly string[] | undefined): number | null {
  const port = typeof text === "string" ? Number(text) : NaN;
  return Number.isInteger(port) && port > 0 && port < 65536 ? port : null;
}

function decodeEngine(text: string): string | undefined {
  try {
    return decodeURIComponent(text) || undefined;
  } catch {
    // Not an encoded name, so no engine's.
    return undefined;
  }
}

function reply(
  response: ServerResponse,
  bytes: Uint8Array,
  type = "application/json",
): void {
  response.writeHead(200, {
    "content-type": type,
    "content-length": bytes.length,
    "cache-control": "no-store",
  });
  response.end(bytes);
}

function refuse(
  response: ServerResponse,
  status: number,
  message: string,
): void {
  const { socket } = response;
  response.writeHead(status, {
    "content-type": "text/plain",
    connection: "close",
  });
  // What the other side still sends is not read.
  response.end(`${message}\n`, () => socket?.destroySoon());
}

function refuseBody(
  response: ServerResponse,
  kind: "too_large" | "too_late" | "broken",
): void {
  if (kind === "broken") response.destroy();
  else if (kind === "too_large") refuse(response, 413, "The body is too large");
  else refuse(response, 408, "The body came too late");
}

/** Whoever asked for the cluster by the API reads it too. */
function listenError(error: Error, host: string, port: number): Fault {
  const where = formatAddress({ host, port });
  const inUse = "code" in error && error.code === "EADDRINUSE";
  return new Fault(
    "conflict",
    inUse
      ? `Cannot open the member link on ${where}: the port is in use; stop its holder or set COVEY_LINK_PORT to another one`
      : `Cannot open the member link on ${where}; check COVEY_LINK_HOST and COVEY_LINK_PORT`,
    { cause: error },
  );
}
