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

/**
 * The same over another LAN than the real one.
 *
 * @param host What the open node lends to the cluster.
 * @param platform Clock, chance and files.
 * @param discover Starts discovery.
 * @returns The cluster.
 */
export function createClusterOn(
  host: Host,
  platform: Platform,
  discover: Discover,
): Promise<Cluster> {
  return Promise.resolve(new BackgroundCluster(host, platform, discover));
}

class BackgroundCluster implements Cluster {
  readonly #host: Host;
  readonly #clock: Clock;
  readonly #coming: Promise<void>;
  readonly #life = new AbortController();
  #running: RunningCluster | null = null;

  constructor(host: Host, platform: Platform, discover: Discover) {
    this.#host = host;
    this.#clock = platform.clock;
    host.metrics.gauge(
      "covey_cluster_members",
      "Members of the cluster by health, this node included.",
      ["health"],
      () => countByHealth(this.members()),
    );
    this.#coming = this.#bringUp(platform, discover).catch((error) => {
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

  async #bringUp(platform: Platform, discover: Discover): Promise<void> {
    const { config, log, node, stateDir } = this.#host;
    const { entropy, files } = platform;
    // Loaded here, so that a node without a secret never pays for it.
    const [{ deriveClusterKeys }, { loadIdentity }, { RunningCluster }] =
      await Promise.all([
        import("./identity/cluster_keys.ts"),
        import("./identity/node_identity.ts"),
        import("./running_cluster.ts"),
      ]);
    const { previousSecret, secret } = config;
    if (secret === null) return;
    const [keys, previousKeys, identity] = await Promise.all([
      deriveClusterKeys(secret),
      previousSecret === null ? null : deriveClusterKeys(previousSecret),
      loadIdentity({ files, entropy, log, stateDir, nodeId: node.id }),
    ]);
    if (this.#life.signal.aborted) return;
    this.#running = await RunningCluster.open({
      host: this.#host,
      platform,
      identity,
      keys,
      previousKeys,
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
