import {
  type Cluster,
  type ClusterConfig,
  type Engine,
  type MemberView,
  type ModelShelf,
  type PackShelf,
  Secret,
  type WorkReport,
} from "@covey/core/domain";
import {
  createSystemClock,
  createSystemEntropy,
  MemoryFiles,
  type Platform,
  type Processes,
} from "@covey/core/platform";
import type { OwnedRouter } from "../../../test/fakes/scripted_node.ts";
import { CountingMetrics } from "../../../test/fakes/counting_metrics.ts";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { type ClusterSeams, createClusterOn } from "../../src/cluster.ts";
import type { Discover } from "../../src/running_cluster.ts";
import { bodyOf, nodeIdOf } from "../link/link_fixture.ts";

const WORK: WorkReport = {
  engines: [{ id: "sim", offers: [] }],
  dispatchesSeen: {},
};
const NO_PROCESSES: Processes = {
  self: [],
  spawn() {
    throw new Error("Nothing is started here");
  },
};

/** A LAN on which nobody is heard. */
export const silence: Discover = () =>
  Promise.resolve({
    state: () => [],
    interfaces: () => [],
    test: () => Promise.resolve([]),
    refresh() {},
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });

/** What a whole node of a test is told. */
export interface WholeNodeOptions {
  /** Its number, which gives its id. */
  readonly n: number;
  readonly discover: Discover;
  readonly config?: Partial<ClusterConfig>;
  readonly files?: MemoryFiles;
  readonly processes?: Processes;
  /** Time and chance instead of the real ones. */
  readonly world?: Pick<Platform, "clock" | "entropy">;
  readonly seams?: ClusterSeams;
  readonly toolEnv?: Readonly<Record<string, string>>;
  /** What it reports of its work, where it has no real router; nothing to do unless told otherwise. */
  readonly work?: () => WorkReport;
  /** Its models folder; absent for none. */
  readonly models?: ModelShelf;
  /** Its engine packs; absent for none. */
  readonly packs?: PackShelf;
  /** A real router in the place of one that answers everything at once. */
  router?(peers: () => readonly Engine[]): OwnedRouter;
}

/** A whole cluster node in this process, with a discovery of the test's; over real sockets unless told otherwise. */
export class WholeNode implements AsyncDisposable {
  readonly log: TellingLog;
  readonly files: MemoryFiles;
  readonly cluster: Cluster;
  /** What the cluster counts. */
  readonly metrics: CountingMetrics;
  /** The router it was given, or null. */
  readonly router: OwnedRouter | null;

  static async open(options: WholeNodeOptions): Promise<WholeNode> {
    const files = options.files ?? new MemoryFiles();
    const log = new TellingLog();
    const metrics = new CountingMetrics();
    const joined: { cluster: Cluster | null } = { cluster: null };
    const router = options.router?.(() => joined.cluster?.engines() ?? []) ??
      null;
    const drained = { is: false };
    const cluster = await createClusterOn(
      {
        log,
        metrics,
        node: {
          id: nodeIdOf(options.n),
          name: `node-${options.n}`,
          version: "0.1.0",
        },
        config: {
          secret: new Secret("correct horse battery staple"),
          previousSecret: null,
          linkHost: "127.0.0.1",
          linkPort: 0,
          advertise: [],
          peers: [],
          mdnsInterfaces: null,
          licence: null,
          ...options.config,
        },
        stateDir: "/state",
        ...options.models === undefined ? {} : { models: options.models },
        ...options.packs === undefined ? {} : { packs: options.packs },
        toolEnv: options.toolEnv ?? {},
        drain(draining) {
          drained.is = draining;
          router?.drain(draining);
          joined.cluster?.announce?.();
          return Promise.resolve();
        },
        router: router ?? {
          report: () => ({ ...options.work?.() ?? WORK, draining: drained.is }),
          serve: () =>
            Promise.resolve({
              kind: "accepted",
              queue: { slots: 1, runningMs: [], waitingMs: [] },
              answer: () =>
                Promise.resolve({
                  status: 200,
                  contentType: "text/plain",
                  retryAfter: null,
                  body: bodyOf([
                    new TextEncoder().encode(`from ${options.n}`),
                  ]),
                }),
            }),
        },
      },
      {
        clock: options.world?.clock ?? createSystemClock(),
        entropy: options.world?.entropy ?? createSystemEntropy(),
        files,
        processes: options.processes ?? NO_PROCESSES,
      },
      options.discover,
      options.seams,
    );
    joined.cluster = cluster;
    return new WholeNode(files, log, metrics, cluster, router);
  }

  private constructor(
    files: MemoryFiles,
    log: TellingLog,
    metrics: CountingMetrics,
    cluster: Cluster,
    router: OwnedRouter | null,
  ) {
    this.files = files;
    this.log = log;
    this.metrics = metrics;
    this.cluster = cluster;
    this.router = router;
  }

  /** The member with a number as this node sees it. */
  member(n: number): MemberView | undefined {
    return this.cluster.members().find(({ id }) => id === nodeIdOf(n));
  }

  /** The port of its link, once that is open. */
  async linkPort(): Promise<number> {
    let port = NaN;
    await this.until(({ log }) => {
      const line = log.lines.find(({ message }) =>
        message === "The member link is open"
      );
      port = Number(String(line?.fields["address"]).split(":").at(-1));
      return line !== undefined;
    });
    return port;
  }

  /** Wait until something is so; looked at whenever the node logs a line. */
  async until(isSo: (node: WholeNode) => boolean): Promise<void> {
    while (!isSo(this)) await this.log.next();
  }

  /** Wait until these members, and no others, are healthy. */
  async untilHealthy(...numbers: number[]): Promise<void> {
    await this.until((node) => node.sees(...numbers));
  }

  /** Whether these members, and no others, are healthy as this node sees it. */
  sees(...numbers: number[]): boolean {
    const healthy = this.cluster.members().filter(({ health }) =>
      health === "healthy"
    );
    return JSON.stringify(healthy.map(({ id }) => id).sort()) ===
      JSON.stringify(numbers.map(nodeIdOf).sort());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.router?.[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }
}

/** Wakes who waits with every line. */
class TellingLog extends QuietLog {
  #next = Promise.withResolvers<void>();

  next(): Promise<void> {
    return this.#next.promise;
  }

  override debug(message: string, fields = {}): void {
    super.debug(message, fields);
    this.#tell();
  }

  override info(message: string, fields = {}): void {
    super.info(message, fields);
    this.#tell();
  }

  override warn(message: string, fields = {}): void {
    super.warn(message, fields);
    this.#tell();
  }

  override error(message: string, fields = {}): void {
    super.error(message, fields);
    this.#tell();
  }

  override child(): this {
    return this;
  }

  #tell(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }
}
