import {
  type Cluster,
  type ClusterAction,
  type Engine,
  Fault,
  type Host,
  type JsonObject,
  type JsonValue,
  type Log,
  type MemberView,
} from "@covey/core/domain";
import type { Clock, Platform } from "@covey/core/platform";
import type { MachineFacts } from "./identity/machine_facts.ts";
import type { Discover, RunningCluster } from "./running_cluster.ts";

/** Longest time that stopping may take. */
const STOP_LIMIT_MS = 3000;

/**
 * Join or found the cluster of the configured secret. Returns at once: the
 * keys are derived, the link opened and peers looked for in the background,
 * and until then there are no peers and no id. What keeps it from coming up
 * is logged as an error, and the node serves on alone.
 *
 * @param host What the open node lends to the cluster.
 * @param platform Clock, chance and files.
 * @returns The cluster. Disposing it says goodbye and closes the link, within 3 s.
 */
export function createCluster(
  host: Host,
  platform: Platform,
): Promise<Cluster> {
  return createClusterOn(host, platform, discoverOn(host, platform));
}

/** What tests put in the place of the real world. */
export interface ClusterSeams {
  /** Keys of licence issuers instead of those compiled in. */
  readonly licenceKeys?: readonly string[];
  /** The machine instead of the one this process runs on. */
  readonly machine?: MachineFacts;
  /** Discovery instead of the real LAN's. */
  readonly discover?: Discover;
}

/**
 * The same over another LAN than the real one.
 *
 * @param host What the open node lends to the cluster.
 * @param platform Clock, chance and files.
 * @param discover Starts discovery.
 * @param seams What else is another than in the real world.
 * @returns The cluster.
 */
export function createClusterOn(
  host: Host,
  platform: Platform,
  discover: Discover,
  seams: ClusterSeams = {},
): Promise<Cluster> {
  return Promise.resolve(
    new BackgroundCluster(host, platform, discover, seams),
  );
}

/**
 * The same on the real LAN, with other keys of licence issuers than those
 * compiled in. For a main module of a test's own: no variable or file of a
 * real build leads here.
 */
export function createClusterWithSeams(
  host: Host,
  platform: Platform,
  seams: ClusterSeams,
): Promise<Cluster> {
  return createClusterOn(
    host,
    platform,
    seams.discover ?? discoverOn(host, platform),
    seams,
  );
}

class BackgroundCluster implements Cluster {
  readonly #host: Host;
  readonly #clock: Clock;
  readonly #coming: Promise<void>;
  readonly #life = new AbortController();
  #running: RunningCluster | null = null;

  constructor(
    host: Host,
    platform: Platform,
    discover: Discover,
    seams: ClusterSeams,
  ) {
    this.#host = host;
    this.#clock = platform.clock;
    host.metrics.gauge(
      "covey_cluster_members",
      "Members of the cluster by health, this node included.",
      ["health"],
      () => countByHealth(this.members()),
    );
    this.#coming = this.#bringUp(platform, discover, seams).catch((error) => {
      host.log.error(
        error instanceof Error
          ? error.message
          : "The cluster could not be started",
      );
    });
  }

  id(): string | null {
    return this.#running?.clusterId ?? null;
  }

  engines(): readonly Engine[] {
    return this.#running?.engines() ?? [];
  }

  members(): readonly MemberView[] {
    return this.#running?.members() ?? [{
      ...this.#host.node,
      self: true,
      health: "healthy",
      draining: false,
      addresses: [],
    }];
  }

  dormant(): boolean {
    return false;
  }

  act(
    action: ClusterAction,
    _body: JsonObject,
    _signal: AbortSignal,
  ): Promise<JsonValue> {
    return Promise.reject(
      new Fault("not_implemented", `Covey does not implement ${action} yet`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    const timeUp = new AbortController();
    const stopped = this.#stop().catch((error) =>
      this.#host.log.error("The cluster did not stop in good order", {
        error: error instanceof Error ? error.message : String(error),
      })
    );
    await Promise.race([
      stopped.finally(() => timeUp.abort()),
      warnAfter(this.#clock, timeUp.signal, this.#host.log),
    ]);
  }

  async #stop(): Promise<void> {
    await this.#coming;
    await this.#running?.[Symbol.asyncDispose]();
  }

  async #bringUp(
    platform: Platform,
    discover: Discover,
    seams: ClusterSeams,
  ): Promise<void> {
    const { config, log, node, stateDir } = this.#host;
    const { clock, entropy, files } = platform;
    // Loaded here, so that a node without a secret never pays for it.
    const [
      { deriveClusterKeys },
      { loadIdentity },
      { readMachineFacts },
      { openLicence },
      { LICENCE_KEYS },
      { RunningCluster },
    ] = await Promise.all([
      import("./identity/cluster_keys.ts"),
      import("./identity/node_identity.ts"),
      import("./identity/machine_facts.ts"),
      import("./licence/licence.ts"),
      import("./licence/licence_keys.ts"),
      import("./running_cluster.ts"),
    ]);
    const { previousSecret, secret } = config;
    if (secret === null) return;
    const machine = seams.machine ?? await readMachineFacts(files);
    const [keys, previousKeys, identity, licence] = await Promise.all([
      deriveClusterKeys(secret),
      previousSecret === null ? null : deriveClusterKeys(previousSecret),
      loadIdentity({ files, entropy, log, stateDir, nodeId: node.id, machine }),
      openLicence(config.licence, {
        publicKeys: seams.licenceKeys ?? LICENCE_KEYS,
        nowMs: clock.now(),
        log,
      }),
    ]);
    if (this.#life.signal.aborted) return;
    this.#running = await RunningCluster.open({
      host: this.#host,
      platform,
      identity,
      keys,
      previousKeys,
      licence,
      machine,
      discover,
    });
  }
}

function discoverOn({ log }: Host, platform: Platform): Discover {
  return async (options) => {
    const { createDenoInterfaces, createDiscovery, createMulticastDnsOpener } =
      await import("./discovery/mod.ts");
    const { clock, entropy, files } = platform;
    return await createDiscovery({
      ...options,
      clock,
      entropy,
      log: log.child("discovery"),
      listInterfaces: createDenoInterfaces(files),
      openSocket: createMulticastDnsOpener(clock),
    });
  };
}

async function warnAfter(
  clock: Clock,
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  try {
    await clock.sleep(STOP_LIMIT_MS, signal);
  } catch {
    // Stopped in time.
    return;
  }
  log.warn("The cluster took too long to stop and was left");
}

function countByHealth(members: readonly MemberView[]) {
  const counts = new Map<string, number>();
  for (const { health } of members) {
    counts.set(health, (counts.get(health) ?? 0) + 1);
  }
  return [...counts].map(([health, value]) => ({ value, labels: { health } }));
}
