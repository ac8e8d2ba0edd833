import {
  type Cluster,
  type ClusterAction,
  Fault,
  type Host,
  type JsonObject,
  type JsonValue,
  type Log,
  type NodeId,
} from "./domain/mod.ts";
import type { Entropy, Files, Platform } from "./platform/mod.ts";

/** Makes the cluster; called when there is to be one, at start or later. */
export type ClusterFactory = (
  host: Host,
  platform: Platform,
) => Promise<Cluster>;

/** What a composition root with cluster code hands in. */
export interface ClusterCode {
  /** Makes the cluster. */
  readonly createCluster: ClusterFactory;
  /**
   * Whether a node without a secret is in a cluster because it was admitted by
   * invitation, or founded one by inviting. Light: it loads no cluster code.
   */
  resumesCluster(files: Files, stateDir: string): Promise<boolean>;
  /**
   * Before the node's id is read, for a node that is in a cluster: put the
   * identity aside if it has come to another machine.
   */
  settleIdentity?(files: Files, dataDir: string, log: Log): Promise<void>;
  /**
   * Make, once, the certificate that COVEY_TLS_CERT=self stands for.
   *
   * @param names What clients may call the node by.
   * @returns Where it and its key lie.
   */
  ensureApiCertificate?(
    options: {
      readonly files: Files;
      readonly entropy: Entropy;
      readonly dataDir: string;
      readonly nodeId: NodeId;
      readonly names: {
        readonly hosts: readonly string[];
        readonly addresses: readonly string[];
      };
    },
  ): Promise<
    { readonly certificateFile: string; readonly keyFile: string }
  >;
  /** JSON schemas of the bodies that actions take, of those that take one. */
  describeActions(): Promise<
    { readonly [Action in ClusterAction]?: JsonObject }
  >;
  /** Do what needs no open cluster, for a node that is in none. */
  actAlone(
    action: ClusterAction,
    body: JsonObject,
    host: Host,
    platform: Platform,
    signal: AbortSignal,
  ): Promise<JsonValue>;
}

/** What the slot is made of. */
export interface ClusterSlotOptions {
  /** Null in a build without cluster code. */
  readonly code: ClusterCode | null;
  readonly host: Host;
  readonly platform: Platform;
}

/** Actions that bring a cluster about where there is none. */
const OPENING: ReadonlySet<ClusterAction> = new Set(["invite", "join"]);
/** Actions that change nothing and need not wait for those that do. */
const LOOKING: ReadonlySet<ClusterAction> = new Set([
  "doctor",
  "audit",
  "copies",
  "refresh",
]);

/**
 * The place of the cluster in a node: empty until a secret, an earlier
 * admission or an operator asks for one. While it is empty, and while the
 * cluster is dormant, there is no listener, no multicast and no timer.
 */
export class ClusterSlot implements AsyncDisposable {
  readonly #options: ClusterSlotOptions;
  readonly #life = new AbortController();
  #cluster: Cluster | null = null;
  /** Ends with the last action that changes something. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: ClusterSlotOptions) {
    this.#options = options;
  }

  /** The cluster this node is in, or null. */
  get cluster(): Cluster | null {
    return this.#cluster?.dormant() === false ? this.#cluster : null;
  }

  /** Open the cluster if a secret or an earlier admission asks for it. */
  async start(): Promise<void> {
    const { code, host, platform } = this.#options;
    if (code === null) return;
    if (
      host.config.secret !== null ||
      await code.resumesCluster(platform.files, host.stateDir)
    ) {
      this.#cluster = await code.createCluster(host, platform);
    }
  }

  /**
   * Do what an operator asks of the cluster. What changes something is done
   * one after the other.
   *
   * @throws {Fault} `not_implemented` without cluster code, or why it can not be done.
   */
  act(
    action: ClusterAction,
    body: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonValue> {
    const { code } = this.#options;
    if (code === null) {
      throw new Fault(
        "not_implemented",
        "This build has no cluster code; use the full build",
      );
    }
    const both = AbortSignal.any([signal, this.#life.signal]);
    const run = () => this.#act(code, action, body, both);
    if (LOOKING.has(action)) return run();
    const turn = this.#turn.then(run);
    // Its caller hears of a failure; the next in turn does not care.
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** JSON schemas of the bodies that `act` takes; none without cluster code. */
  describeActions(): ReturnType<ClusterCode["describeActions"]> {
    return this.#options.code?.describeActions() ?? Promise.resolve({});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(
      new Fault("shutting_down", "The node is shutting down"),
    );
    await this.#turn;
    await this.#cluster?.[Symbol.asyncDispose]();
  }

  async #act(
    code: ClusterCode,
    action: ClusterAction,
    body: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonValue> {
    signal.throwIfAborted();
    const { host, platform } = this.#options;
    if (this.cluster === null && !OPENING.has(action)) {
      return await code.actAlone(action, body, host, platform, signal);
    }
    this.#cluster ??= await code.createCluster(host, platform);
    return await this.#cluster.act(action, body, signal);
  }
}
