import {
  type Cluster,
  type Host,
  type MemberView,
  type Metrics,
  type ModelShelf,
  type NodeId,
  type PackShelf,
  Secret,
  type WorkReport,
} from "@covey/core/domain";
import {
  createSystemClock,
  createSystemEntropy,
  MemoryFiles,
  type Platform,
} from "@covey/core/platform";
import { QuietLog } from "../../test/fakes/quiet_log.ts";
import { createClusterOn } from "../src/cluster.ts";
import type { MachineFacts } from "../src/identity/machine_facts.ts";
import type { Sighting } from "../src/discovery/mod.ts";
import type { Discover } from "../src/running_cluster.ts";
import { bodyOf, nodeIdOf } from "./link/link_fixture.ts";

/** The secret of honest nodes. */
export const SECRET = "correct horse battery staple";
/** How much longer than usual nodes wait for each other: a loaded machine makes none of them silent. */
const PATIENCE = 10;
/** Counts nothing. */
export const noMetrics: Metrics = {
  counter: () => ({ add() {} }),
  gauge() {},
  histogram: () => ({ observe() {} }),
};
/** What a node that computes nothing reports. */
export const WORK: WorkReport = {
  engines: [{ id: "sim", offers: [] }],
  dispatchesSeen: {},
};

/** A wire on which every node hears every other. */
export class FakeLan {
  readonly #nodes = new Map<NodeId, {
    readonly port: number;
    onSighting(sighting: Sighting): void;
  }>();

  /** Port of a node's link, once it announces itself. */
  portOf(nodeId: NodeId): number {
    const node = this.#nodes.get(nodeId);
    if (node === undefined) throw new Error(`Node ${nodeId} is not there`);
    return node.port;
  }

  readonly discover: Discover = ({ onSighting, service }) => {
    const { nodeId, port } = service;
    for (const [otherId, other] of this.#nodes) {
      other.onSighting(seen(nodeId, port));
      onSighting(seen(otherId, other.port));
    }
    this.#nodes.set(nodeId, { port, onSighting });
    return Promise.resolve({
      state: () => [],
      interfaces: () => [],
      test: () => Promise.resolve([]),
      refresh() {},
      [Symbol.asyncDispose]: () => {
        this.#nodes.delete(nodeId);
        for (const other of this.#nodes.values()) {
          other.onSighting({
            kind: "goodbye",
            instance: nodeId,
            claimedId: nodeId,
          });
        }
        return Promise.resolve();
      },
    });
  };
}

function seen(nodeId: NodeId, port: number): Sighting {
  return {
    kind: "seen",
    instance: nodeId,
    claimedId: nodeId,
    addresses: ["127.0.0.1"],
    port,
    interfaceName: "lo",
  };
}

/** A node whose log lines can be waited for, instead of time. */
export class TestNode {
  readonly log: WaitingLog;
  readonly files: MemoryFiles;
  readonly cluster: Promise<Cluster>;

  constructor(
    n: number,
    lan: FakeLan,
    settings: {
      /** Null for a node without a secret. */
      readonly secret?: string | null;
      readonly previous?: string;
      readonly files?: MemoryFiles;
      readonly peers?: Host["config"]["peers"];
      /** How far its wall clock is off, in milliseconds. */
      readonly clockOffMs?: number;
      /** How far its monotonic clock has been moved on, in milliseconds. */
      readonly movedOnMs?: () => number;
      readonly role?: "node" | "controller";
      readonly name?: string;
      readonly licence?: string;
      /** Keys of licence issuers. */
      readonly licenceKeys?: readonly string[];
      readonly machine?: MachineFacts;
      /** Its models folder; absent for none. */
      readonly models?: ModelShelf;
      /** Its engine packs; absent for none. */
      readonly packs?: PackShelf;
    } = {},
  ) {
    this.log = new WaitingLog();
    this.files = settings.files ?? new MemoryFiles();
    const clock = createSystemClock();
    const platform: Platform = {
      clock: {
        ...clock,
        now: () => clock.now() + (settings.clockOffMs ?? 0),
        monotonic: () => clock.monotonic() + (settings.movedOnMs?.() ?? 0),
        deadline: (ms, parent) => clock.deadline(ms * PATIENCE, parent),
        after: (ms, call) => clock.after(ms * PATIENCE, call),
      },
      entropy: createSystemEntropy(),
      files: this.files,
      processes: {
        self: [],
        spawn() {
          throw new Error("Nothing is started here");
        },
      },
    };
    this.cluster = createClusterOn(
      {
        log: this.log,
        metrics: noMetrics,
        node: {
          id: nodeIdOf(n),
          name: settings.name ?? `node-${n}`,
          version: "0.1.0",
          role: settings.role ?? "node",
        },
        config: {
          secret: settings.secret === null
            ? null
            : new Secret(settings.secret ?? SECRET),
          previousSecret: settings.previous === undefined
            ? null
            : new Secret(settings.previous),
          linkHost: "127.0.0.1",
          linkPort: 0,
          advertise: [],
          peers: settings.peers ?? [],
          mdnsInterfaces: null,
          licence: settings.licence ?? null,
        },
        stateDir: "/state",
        ...settings.models === undefined ? {} : { models: settings.models },
        ...settings.packs === undefined ? {} : { packs: settings.packs },
        router: {
          report: () => WORK,
          serve: () =>
            Promise.resolve({
              kind: "accepted",
              queue: { slots: 1, runningMs: [], waitingMs: [] },
              answer: () =>
                Promise.resolve({
                  status: 200,
                  contentType: "text/plain",
                  retryAfter: null,
                  body: bodyOf([new TextEncoder().encode(`from ${n}`)]),
                }),
            }),
        },
      },
      platform,
      lan.discover,
      {
        licenceKeys: settings.licenceKeys ?? [],
        machine: settings.machine ??
          { board: `board ${n}`, machineId: null, macs: [] },
      },
    );
  }
}

/** Resolves waits by the lines that are logged. */
export class WaitingLog extends QuietLog {
  readonly #waits: { readonly text: string; readonly done: () => void }[] = [];

  /** Wait for the next line, whatever it is. */
  async next(): Promise<void> {
    await new Promise<void>((done) => this.#waits.push({ text: "", done }));
  }

  async until(text: string): Promise<void> {
    if (this.lines.some(({ message }) => message.includes(text))) return;
    await new Promise<void>((done) => this.#waits.push({ text, done }));
  }

  override debug(message: string, fields = {}): void {
    super.debug(message, fields);
    this.#tell(message);
  }

  override info(message: string, fields = {}): void {
    super.info(message, fields);
    this.#tell(message);
  }

  override warn(message: string, fields = {}): void {
    super.warn(message, fields);
    this.#tell(message);
  }

  override error(message: string, fields = {}): void {
    super.error(message, fields);
    this.#tell(message);
  }

  #tell(message: string): void {
    for (const { done, text } of this.#waits) {
      if (message.includes(text)) done();
    }
  }
}

/** Wait, line by line of a node's log, until something holds. */
export async function settled(
  holds: () => boolean,
  node: TestNode,
): Promise<void> {
  while (!holds()) await node.log.next();
}

/** Wait until each of some nodes has found a member healthy. */
export async function healthy(...nodes: readonly TestNode[]): Promise<void> {
  await Promise.all(nodes.map(({ log }) => log.until("A member is healthy")));
}

/** Names of members, in order. */
export function namesOf(members: readonly MemberView[]): string[] {
  return members.map(({ name }) => name).sort();
}
