import { setImmediate } from "node:timers";
import type {
  ClusterConfig,
  Engine,
  ModelShelf,
  PackShelf,
  Secret,
  WorkReport,
} from "@covey/core/domain";
import {
  createSeededEntropy,
  ManualClock,
  type MemoryFiles,
} from "@covey/core/platform";
import type { OwnedRouter } from "../../../test/fakes/scripted_node.ts";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import {
  createDiscovery,
  type Discovery,
  type NetworkInterface,
} from "../../src/discovery/mod.ts";
import { MemoryLan } from "../../src/discovery/net/memory_lan.ts";
import {
  type ClusterKeys,
  deriveClusterKeys,
} from "../../src/identity/cluster_keys.ts";
import type { LinkSockets } from "../../src/link/link_sockets.ts";
import { MemoryNet, type NetHost } from "./memory_net.ts";
import { WholeNode } from "./whole_node.ts";

// What nodes load when they need it is here beforehand: loading takes real
// time, which the LAN's clock knows nothing of.
import "@noble/curves/ed25519.js";
import "../../src/actions/drain.ts";
import "../../src/actions/refresh.ts";
import "../../src/actions/remove.ts";
import "../../src/doctor/consult.ts";

/** Turns of the event loop that what a wake-up started may take until it waits again. */
const TURNS = 4;
/** How far time goes between two looks. */
const STEP_MS = 50;

/**
 * Hosts in one process, on one clock that this moves: multicast and the link
 * in memory, chance from seeds. A host's address can change; it can fall
 * silent or be cut off from some.
 */
export class TestLan implements AsyncDisposable {
  readonly clock = new ManualClock(undefined, turn);
  readonly lan = new MemoryLan(this.clock);
  readonly net = new MemoryNet(
    this.clock,
    (a, b) => this.#passes(this.#at(a.address), this.#at(b.address)),
  );
  readonly #hosts: LanHost[] = [];
  /** Pairs of addresses between which nothing passes. */
  #split: ((a: LanHost, b: LanHost) => boolean) | null = null;

  constructor() {
    this.lan.treat = ({ from, to }) => {
      const passes = this.#passes(this.#at(from), this.#at(to));
      return { copies: passes ? 1 : 0, delayMs: 1 };
    };
  }

  /** Put a host with a node on the LAN; it has begun to look for others then, and no time has passed. */
  async add(n: number, more: HostOptions = {}): Promise<LanHost> {
    const host = new LanHost(n, this);
    this.#hosts.push(host);
    await host.start(more);
    return host;
  }

  /** Let nothing pass any more between some hosts, or again with null. */
  split(apart: ((a: LanHost, b: LanHost) => boolean) | null): void {
    this.#split = apart;
    this.changed();
  }

  /** Something passes now that did not. */
  changed(): void {
    this.net.changed();
  }

  /**
   * Move time until something is so.
   *
   * @param what What that is, for the error.
   * @param limitMs Longest time of the LAN's clock until then.
   * @returns How long it took by that clock.
   */
  async until(
    what: string,
    limitMs: number,
    isSo: () => boolean,
  ): Promise<number> {
    const startMs = this.clock.monotonic();
    for (;;) {
      const tookMs = this.clock.monotonic() - startMs;
      if (isSo()) return tookMs;
      if (tookMs >= limitMs) {
        throw new Error(`Not so within ${limitMs} ms: ${what}`);
      }
      await this.clock.advance(STEP_MS);
    }
  }

  /** Move time until a promise is settled. */
  async settle<Result>(
    promise: Promise<Result>,
    limitMs: number,
  ): Promise<Result> {
    let isSettled = false;
    const settled = promise.finally(() => isSettled = true);
    settled.catch(() => {});
    await this.until("an action ends", limitMs, () => isSettled);
    return await settled;
  }

  /** Move time until each of these hosts takes all of them, and no others, for healthy. */
  untilWhole(limitMs: number, ...hosts: LanHost[]): Promise<number> {
    const numbers = hosts.map(({ n }) => n);
    return this.until(
      `${numbers} are whole`,
      limitMs,
      () => hosts.every(({ node }) => node.sees(...numbers)),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.settle(
      Promise.all(this.#hosts.map((host) => host.stop())),
      10_000,
    );
  }

  #passes(a: LanHost | undefined, b: LanHost | undefined): boolean {
    return a !== undefined && b !== undefined && !a.silent && !b.silent &&
      this.#split?.(a, b) !== true;
  }

  #at(address: string): LanHost | undefined {
    return this.#hosts.find((host) => host.address === address);
  }
}

/** What a host's node may be told. */
export interface HostOptions {
  readonly files?: MemoryFiles;
  readonly config?: Partial<ClusterConfig>;
  /** Keys of licence issuers. */
  readonly licenceKeys?: readonly string[];
  /** What its node reports of its work, where it has no real router. */
  readonly work?: () => WorkReport;
  /** Its models folder; absent for none. */
  readonly models?: ModelShelf;
  /** Its engine packs; absent for none. */
  readonly packs?: PackShelf;
  /** Makes its router, instead of one that answers everything at once. */
  readonly router?: (
    peers: () => readonly Engine[],
    clock: ManualClock,
  ) => OwnedRouter;
}

/** One host of the LAN. */
export class LanHost implements NetHost {
  readonly n: number;
  /** Its address now. */
  address: string;
  /** Nothing comes from it and it takes nothing, as when its cable is pulled. */
  silent = false;
  readonly #lan: TestLan;
  readonly #sockets: LinkSockets;
  #moves = 0;
  #node: WholeNode | null = null;
  #discovery: Discovery | null = null;

  constructor(n: number, lan: TestLan) {
    this.n = n;
    this.#lan = lan;
    this.address = `10.1.0.${n}`;
    this.#sockets = lan.net.attach(this);
  }

  get node(): WholeNode {
    if (this.#node === null) throw new Error("The host is not started");
    return this.#node;
  }

  async start(more: HostOptions): Promise<void> {
    const { clock, lan } = this.#lan;
    const { router } = more;
    const entropy = createSeededEntropy(this.n);
    const looking = Promise.withResolvers<void>();
    this.#node = await WholeNode.open({
      n: this.n,
      ...(more.files === undefined ? {} : { files: more.files }),
      ...(more.work === undefined ? {} : { work: more.work }),
      ...(more.models === undefined ? {} : { models: more.models }),
      ...(more.packs === undefined ? {} : { packs: more.packs }),
      config: { linkHost: "0.0.0.0", ...more.config },
      ...(router === undefined
        ? {}
        : { router: (peers) => router(peers, clock) }),
      world: { clock, entropy },
      seams: {
        sockets: this.#sockets,
        deriveKeys,
        licenceKeys: more.licenceKeys ?? [],
      },
      discover: async ({ onSighting, service }) => {
        this.#discovery = await createDiscovery({
          clock,
          entropy,
          log: new QuietLog(),
          interfaces: null,
          listInterfaces: () => [this.#interface()],
          openSocket: lan.openSocket,
          service,
          onSighting,
        });
        looking.resolve();
        return this.#discovery;
      },
    });
    await looking.promise;
  }

  /** Give it another address; connections to the old one die without a word. */
  move(): void {
    this.#moves++;
    this.address = `10.1.${this.#moves}.${this.n}`;
    this.#discovery?.refresh();
  }

  /** Pull its cable: what is open stays open, and nobody is told. */
  cut(): void {
    this.silent = true;
  }

  /** Put the cable back. */
  mend(): void {
    this.silent = false;
    this.#lan.changed();
    this.#discovery?.refresh();
  }

  /** Stop its node in good order; the host stays. */
  async stop(): Promise<void> {
    await this.#node?.[Symbol.asyncDispose]();
  }

  #interface(): NetworkInterface {
    return {
      name: "eth0",
      kind: "lan",
      index: 1,
      addresses: [{ address: this.address, family: "IPv4", prefixLength: 8 }],
    };
  }
}

async function turn(): Promise<void> {
  for (let count = 0; count < TURNS; count++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

const derived = new Map<string, Promise<ClusterKeys>>();

/** The real keys, but at their cost once per secret. */
function deriveKeys(secret: Secret): Promise<ClusterKeys> {
  const text = secret.reveal();
  const keys = derived.get(text) ?? deriveClusterKeys(secret);
  derived.set(text, keys);
  return keys;
}
