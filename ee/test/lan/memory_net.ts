import { X509Certificate } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { Clock } from "@covey/core/platform";
import type {
  LinkCredentials,
  LinkSockets,
} from "../../src/link/link_sockets.ts";
import { codedError, MemorySocket } from "./memory_socket.ts";

const DELAY_MS = 1;
const FIRST_PORT = 40_000;

/** A host on the network in memory. */
export interface NetHost {
  /** Its address now. */
  readonly address: string;
}

interface Listener {
  readonly host: NetHost;
  readonly port: number;
  readonly server: Server;
  readonly credentials: LinkCredentials;
}

/** A connection holds two addresses for good: it dies with either of them. */
interface Path {
  readonly from: NetHost;
  readonly fromAddress: string;
  readonly to: NetHost;
  readonly toAddress: string;
}

/**
 * A network in memory for the member link, on a clock of the test's. TLS is
 * reduced to this: each end is shown the certificate that the other end states.
 * All above it, from HTTP on, is the real link. What can not pass waits and
 * goes on when it can, as TCP sends again; nobody is told.
 */
export class MemoryNet {
  readonly #clock: Clock;
  readonly #hosts: NetHost[] = [];
  readonly #listeners = new Set<Listener>();
  readonly #held = new Set<() => void>();
  readonly #passes: (from: NetHost, to: NetHost) => boolean;
  #nextPort = FIRST_PORT;
  /** Called when a connection could stand; it does when `done` is called. */
  handshake: (done: () => void) => void = (done) => done();

  /**
   * @param clock Time, on which everything takes a millisecond.
   * @param passes Whether anything passes between two hosts now.
   */
  constructor(clock: Clock, passes: (a: NetHost, b: NetHost) => boolean) {
    this.#clock = clock;
    this.#passes = passes;
  }

  /** Something passes now that did not: what waits for it goes on. */
  changed(): void {
    const held = [...this.#held];
    this.#held.clear();
    for (const retry of held) retry();
  }

  /** Put a host on the network; what it opens and listens for goes through these. */
  attach(host: NetHost): LinkSockets {
    this.#hosts.push(host);
    return {
      connect: ({ host: address, port }, credentials) =>
        this.#connect(host, address, port, credentials),
      createServer: (credentials) => this.#createServer(host, credentials),
    };
  }

  #connect(
    from: NetHost,
    toAddress: string,
    port: number,
    credentials: LinkCredentials,
  ): MemorySocket {
    const fromPort = this.#nextPort++;
    const fromAddress = from.address;
    const to = toAddress.startsWith("127.")
      ? from
      : this.#hosts.find(({ address }) => address === toAddress);
    const listener = [...this.#listeners].find((one) =>
      one.host === to && one.port === port
    );
    const path = to === undefined
      ? null
      : { from, fromAddress, to, toAddress: to.address };
    const client = new MemorySocket({
      remoteAddress: toAddress,
      remotePort: port,
      allowHalfOpen: false,
      certificate: derOf(listener?.credentials),
      carry: this.#carrier(path),
    });
    // Where nobody is, nobody answers.
    if (path === null) return client;
    const carry = this.#carrier(path);
    carry(() => {
      if (client.destroyed) return;
      if (listener === undefined || !this.#listeners.has(listener)) {
        carry(() => client.destroy(codedError("ECONNREFUSED")));
        return;
      }
      const served = new MemorySocket({
        remoteAddress: fromAddress,
        remotePort: fromPort,
        allowHalfOpen: true,
        certificate: derOf(credentials),
        carry: this.#carrier(path),
      });
      client.join(served);
      served.secure();
      listener.server.emit("connection", served);
      if (served.destroyed) return;
      listener.server.emit("secureConnection", served);
      carry(() =>
        this.handshake(() => {
          if (!client.destroyed) client.secure();
        })
      );
    });
    return client;
  }

  #createServer(host: NetHost, credentials: LinkCredentials): Server {
    // Its own timers would run by the real clock.
    const server = createServer({ keepAliveTimeout: 0 });
    const open = new Set<MemorySocket>();
    let listener: Listener | null = null;
    server.on("connection", (socket) => {
      if (!(socket instanceof MemorySocket)) return;
      open.add(socket);
      socket.once("close", () => open.delete(socket));
    });
    const closeAll = () => {
      for (const socket of open) socket.destroy();
    };
    const value = (method: unknown) => ({ value: method });
    return Object.defineProperties(server, {
      // HTTP ends connections of a server that does not listen.
      listening: { get: () => listener !== null },
      address: value(() => ({ port: listener?.port ?? 0 })),
      listen: value((port: number, _address: string, done: () => void) => {
        const chosen = port === 0 ? this.#nextPort++ : port;
        const taken = [...this.#listeners].some((one) =>
          one.host === host && one.port === chosen
        );
        if (taken) {
          server.emit("error", codedError("EADDRINUSE"));
          return;
        }
        listener = { host, port: chosen, server, credentials };
        this.#listeners.add(listener);
        done();
      }),
      close: value((done: () => void) => {
        if (listener !== null) this.#listeners.delete(listener);
        listener = null;
        closeAll();
        done();
      }),
      closeAllConnections: value(closeAll),
    });
  }

  /** Carries in order along one path. */
  #carrier(path: Path | null): (arrive: () => void) => void {
    const queue: (() => void)[] = [];
    let isUnderWay = false;
    const go = () => {
      if (path === null || isUnderWay || queue.length === 0) return;
      const { from, to } = path;
      const stands = from.address === path.fromAddress &&
        to.address === path.toAddress;
      if (!stands || (from !== to && !this.#passes(from, to))) {
        this.#held.add(go);
        return;
      }
      isUnderWay = true;
      this.#clock.after(DELAY_MS, () => {
        isUnderWay = false;
        for (const arrive of queue.splice(0)) arrive();
        go();
      });
    };
    return (arrive) => {
      queue.push(arrive);
      go();
    };
  }
}

function derOf(credentials: LinkCredentials | undefined): Uint8Array {
  return credentials === undefined
    ? new Uint8Array()
    : new X509Certificate(credentials.certificatePem).raw;
}
