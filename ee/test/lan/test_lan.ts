import {
  createSystemClock,
  createSystemEntropy,
  type MemoryFiles,
} from "@covey/core/platform";
import type { ClusterConfig } from "@covey/core/domain";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import {
  createDiscovery,
  type Discovery,
  type NetworkInterface,
} from "../../src/discovery/mod.ts";
import { MemoryLan } from "../../src/discovery/net/memory_lan.ts";
import { WholeNode } from "./whole_node.ts";

/** Whether this system has all of 127.0.0.0/8, which hosts of the test LAN are addressed in. */
export const HAS_HOSTS = Deno.build.os === "linux";

/**
 * Hosts in one process: multicast in memory, the link over real sockets. A
 * node listens where nobody else comes; a host's address on the LAN is a relay
 * to it, so that it can change, fall silent or be cut off from some.
 */
export class TestLan implements AsyncDisposable {
  readonly lan = new MemoryLan(createSystemClock());
  readonly #hosts: LanHost[] = [];
  /** Pairs of addresses between which nothing passes. */
  #split: ((a: LanHost, b: LanHost) => boolean) | null = null;

  constructor() {
    this.lan.treat = ({ from, to }) => {
      const sender = this.#at(from);
      const receiver = this.#at(to);
      const passes = sender !== undefined && receiver !== undefined &&
        !sender.silent && !receiver.silent &&
        this.#split?.(sender, receiver) !== true;
      return { copies: passes ? 1 : 0, delayMs: 1 };
    };
  }

  /** Put a host with a node on the LAN. */
  async add(
    n: number,
    more: {
      readonly files?: MemoryFiles;
      readonly config?: Partial<ClusterConfig>;
    } = {},
  ): Promise<LanHost> {
    const host = new LanHost(n, this.lan);
    this.#hosts.push(host);
    await host.start(more);
    return host;
  }

  /** Let multicast pass no more between some hosts, or again with null. */
  split(apart: ((a: LanHost, b: LanHost) => boolean) | null): void {
    this.#split = apart;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#hosts.map((host) => host[Symbol.asyncDispose]()),
    );
  }

  #at(address: string): LanHost | undefined {
    return this.#hosts.find((host) => host.address === address);
  }
}

/** One host of the LAN. */
export class LanHost implements AsyncDisposable {
  readonly n: number;
  /** Its address now. */
  address: string;
  /** Nothing comes from it and it takes nothing, as when its cable is pulled. */
  silent = false;
  readonly #lan: MemoryLan;
  #moves = 0;
  #node: WholeNode | null = null;
  #discovery: Discovery | null = null;
  #relay: Relay | null = null;

  constructor(n: number, lan: MemoryLan) {
    this.n = n;
    this.#lan = lan;
    this.address = `127.1.0.${n}`;
  }

  get node(): WholeNode {
    if (this.#node === null) throw new Error("The host is not started");
    return this.#node;
  }

  async start(
    more: {
      readonly files?: MemoryFiles;
      readonly config?: Partial<ClusterConfig>;
    },
  ): Promise<void> {
    this.#node = await WholeNode.open({
      n: this.n,
      ...(more.files === undefined ? {} : { files: more.files }),
      config: { linkHost: `127.2.0.${this.n}`, ...more.config },
      discover: async ({ onSighting, service }) => {
        this.#relay = new Relay(this, service.port);
        this.#discovery = await createDiscovery({
          clock: createSystemClock(),
          entropy: createSystemEntropy(),
          log: new QuietLog(),
          interfaces: null,
          listInterfaces: () => [this.#interface()],
          openSocket: this.#lan.openSocket,
          service,
          onSighting,
        });
        return this.#discovery;
      },
    });
  }

  /** Give it another address; connections to the old one break. */
  move(): void {
    this.#moves++;
    this.address = `127.1.${this.#moves}.${this.n}`;
    this.#relay?.move();
    this.#discovery?.refresh();
  }

  /** Pull its cable: what is open stays open, and nobody is told. */
  cut(): void {
    this.silent = true;
  }

  /** Put the cable back. */
  mend(): void {
    this.silent = false;
    this.#discovery?.refresh();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node?.[Symbol.asyncDispose]();
    await this.#relay?.[Symbol.asyncDispose]();
  }

  #interface(): NetworkInterface {
    return {
      name: "lo",
      kind: "loopback",
      index: 1,
      addresses: [{ address: this.address, family: "IPv4", prefixLength: 8 }],
    };
  }
}

/** Passes bytes from a host's address to its node; a silent host's lie where they are. */
class Relay implements AsyncDisposable {
  readonly #host: LanHost;
  readonly #port: number;
  readonly #conns = new Set<Deno.Conn>();
  readonly #running = new Set<Promise<void>>();
  #listener: Deno.Listener;

  constructor(host: LanHost, port: number) {
    this.#host = host;
    this.#port = port;
    this.#listener = this.#open();
  }

  move(): void {
    this.#close();
    this.#listener = this.#open();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    await Promise.all(this.#running);
  }

  #open(): Deno.Listener {
    const listener = Deno.listen({
      hostname: this.#host.address,
      port: this.#port,
    });
    this.#own(this.#serve(listener));
    return listener;
  }

  #close(): void {
    this.#listener.close();
    for (const conn of this.#conns) close(conn);
    this.#conns.clear();
  }

  async #serve(listener: Deno.Listener): Promise<void> {
    for await (const outer of listener) {
      this.#conns.add(outer);
      const hostname = `127.2.0.${this.#host.n}`;
      const inner = await Deno.connect({ hostname, port: this.#port })
        .catch(() => null);
      if (inner === null) {
        close(outer);
        continue;
      }
      this.#conns.add(inner);
      this.#own(this.#pump(outer, inner));
      this.#own(this.#pump(inner, outer));
    }
  }

  async #pump(from: Deno.Conn, to: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(65_536);
    try {
      for (;;) {
        const count = await from.read(buffer);
        if (count === null) break;
        // What a silent host is sent is lost.
        if (this.#host.silent) continue;
        for (let at = 0; at < count;) {
          at += await to.write(buffer.subarray(at, count));
        }
      }
    } catch {
      // The connection broke, which is what closing both ends says too.
    }
    close(from);
    close(to);
  }

  #own(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }
}

function close(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
