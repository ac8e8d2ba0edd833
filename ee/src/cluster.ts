import {
  type Cluster,
  type ClusterAction,
  type CopyHelp,
  type Counter,
  type Engine,
  Fault,
  type Host,
  type JsonObject,
  type JsonValue,
  type Log,
  type MemberView,
  type PackAllies,
  type PullAllies,
  type Secret,
} from "@covey/core/domain";
import type { Clock, Platform } from "@covey/core/platform";
import { AuditLog } from "./audit/audit_log.ts";
import { StandingPulls } from "./copy/standing_pulls.ts";
import type { ClusterKeys } from "./identity/cluster_keys.ts";
import {
  type GroundSeams,
  type Groundwork,
  readGroundwork,
} from "./groundwork.ts";
import type { Patient } from "./doctor/consult.ts";
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
export interface ClusterSeams extends GroundSeams {
  /** Discovery instead of the real LAN's. */
  readonly discover?: Discover;
  /** Keys of a secret instead of what is derived at some cost. */
  deriveKeys?(secret: Secret): Promise<ClusterKeys>;
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

/** What is asked for while a cluster comes about: the answer is that of a node alone. */
const LOOKING: ReadonlySet<ClusterAction> = new Set(["copies", "refresh"]);

class BackgroundCluster implements Cluster {
  readonly #host: Host;
  readonly #platform: Platform;
  readonly #discover: Discover;
  readonly #seams: ClusterSeams;
  readonly #audit: AuditLog;
  readonly #healthChanges: Counter;
  readonly #coming: Promise<void>;
  readonly #pulls: StandingPulls;
  readonly #life = new AbortController();
  #groundwork: Promise<Groundwork> | null = null;
  #running: RunningCluster | null = null;
  /** Why it could not come up, or null. */
  #problem: string | null = null;
  #dormant = false;

  constructor(
    host: Host,
    platform: Platform,
    discover: Discover,
    seams: ClusterSeams,
  ) {
    this.#host = host;
    this.#platform = platform;
    this.#discover = discover;
    this.#seams = seams;
    this.#audit = new AuditLog(platform.clock, host.metrics);
    this.#healthChanges = host.metrics.counter(
      "covey_member_health_changes_total",
      "Changes of members' health as this node sees it, by what it became.",
      ["to"],
    );
    host.metrics.gauge(
      "covey_cluster_members",
      "Members of the cluster by health, this node included.",
      ["health"],
      () => countByHealth(this.members()),
    );
    this.#coming = this.#comeUp();
    this.#pulls = new StandingPulls({
      coming: this.#coming,
      allies: () => this.#running?.copies.allies ?? null,
    });
  }

  id(): string | null {
    return this.#running?.clusterId ?? null;
  }

  engines(): readonly Engine[] {
    return this.#running?.engines() ?? [];
  }

  pullAllies(): PullAllies {
    return this.#pulls;
  }

  copyHelp(model: string): CopyHelp | null {
    return this.#running?.copies.help(model) ?? null;
  }

  packAllies(): PackAllies | null {
    return this.#running?.packs.allies ?? null;
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

  announce(): void {
    this.#running?.announce();
  }

  dormant(): boolean {
    return this.#dormant;
  }

  async act(
    action: ClusterAction,
    body: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonValue> {
    await this.#coming;
    const isNone = this.#running === null && this.#problem === null;
    if (isNone && LOOKING.has(action)) {
      const { actAlone } = await import("./act_alone.ts");
      return await actAlone(action, body, this.#host, this.#platform, signal);
    }
    switch (action) {
      case "audit":
        return { events: this.#audit.list() };
      case "doctor": {
        const { consult } = await import("./doctor/consult.ts");
        return await consult(
          this.#patient(),
          this.#platform,
          this.#host,
          signal,
        );
      }
      case "invite":
        return await this.#invite(body);
      case "join":
        return await this.#join(body, signal);
      case "leave":
        return await this.#leave(body, signal);
      case "remove": {
        const { remove } = await import("./actions/remove.ts");
        return await remove(body, this.#open().means(), signal);
      }
      case "drain": {
        const { drain } = await import("./actions/drain.ts");
        return await drain(body, this.#open().means(), signal);
      }
      case "refresh": {
        const { refresh } = await import("./actions/refresh.ts");
        return await refresh(this.#open().means(), signal);
      }
      case "door": {
        const { turnDoor } = await import("./actions/door.ts");
        return await turnDoor(body, this.#open().means(), signal);
      }
      case "copy":
      case "copies":
      case "cancel_copy":
      case "pause_copy":
      case "resume_copy":
        return await this.#open().copies.act(action, body, signal);
      default:
        return action satisfies never;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    this.#pulls[Symbol.dispose]();
    const { clock } = this.#platform;
    const timeUp = new AbortController();
    const stopped = this.#stop().catch((error) =>
      this.#host.log.error("The cluster did not stop in good order", {
        error: error instanceof Error ? error.message : String(error),
      })
    );
    await Promise.race([
      stopped.finally(() => timeUp.abort()),
      warnAfter(clock, timeUp.signal, this.#host.log),
    ]);
  }

  async #stop(): Promise<void> {
    await this.#coming;
    await this.#running?.[Symbol.asyncDispose]();
  }

  #patient(): Patient {
    if (this.#running !== null) return this.#running.patient();
    return this.#problem === null
      ? { state: "none" }
      : { state: "failed", reason: this.#problem };
  }

  /** The running cluster, for actions that need one. */
  #open(): RunningCluster {
    if (this.#running !== null) return this.#running;
    throw new Fault(
      "no_candidate",
      this.#problem === null
        ? "This node is in no cluster; `covey invite` founds one, `covey join` or COVEY_CLUSTER_SECRET joins one"
        : `The cluster did not come up: ${this.#problem}`,
    );
  }

  /** Come up by what is configured and kept. Never rejects. */
  async #comeUp(): Promise<void> {
    const { config: { secret }, log, stateDir } = this.#host;
    const { files } = this.#platform;
    try {
      const { clearStanding, readStanding } = await import(
        "./membership/standing_store.ts"
      );
      const standing = await readStanding(files, stateDir);
      if (secret !== null) {
        const clusterId = await this.#bringUp(null);
        if (standing === null || clusterId === null) return;
        if (standing === clusterId) return;
        await clearStanding(files, stateDir);
        log.warn(
          "This node has left the cluster it was invited into, since a secret is set",
        );
      } else if (standing !== null) await this.#bringUp(standing);
      else this.#dormant = true;
    } catch (error) {
      this.#problem = error instanceof Error
        ? error.message
        : "The cluster could not be started";
      log.error(this.#problem);
    }
  }

  async #invite(body: JsonObject): Promise<JsonValue> {
    const { invite } = await import("./actions/invite.ts");
    const { config, stateDir } = this.#host;
    const { entropy, files } = this.#platform;
    if (this.#running === null && this.#problem === null) {
      const { readInvite } = await import("./actions/bodies.ts");
      readInvite(body);
      const { writeStanding } = await import("./membership/standing_store.ts");
      // A cluster of invitations alone: its label is drawn, and kept.
      const clusterId = config.secret === null ? entropy.uuid() : null;
      await this.#bringUp(clusterId);
      if (clusterId !== null) await writeStanding(files, stateDir, clusterId);
    }
    return invite(body, this.#open().means());
  }

  async #join(body: JsonObject, signal: AbortSignal): Promise<JsonValue> {
    const [{ readJoin }, { join }] = await Promise.all([
      import("./actions/bodies.ts"),
      import("./actions/join.ts"),
    ]);
    const asked = readJoin(body);
    const hasSecret = this.#host.config.secret !== null;
    if (hasSecret && this.#running === null && this.#problem === null) {
      await this.#bringUp(null);
    }
    const running = this.#running;
    // Who founded a cluster that nobody came to may go elsewhere.
    const isAlone = !hasSecret && running !== null &&
      running.means().membership.rows().length === 1;
    if (hasSecret || (running !== null && !isAlone)) {
      const means = (running ?? this.#open()).means();
      const { address, by, clusterId, issuer } = await join(
        asked,
        means,
        signal,
      );
      means.noteMet(issuer, address);
      return { joined: true, by, cluster: { id: clusterId } };
    }
    const { joinFresh } = await import("./fresh_join.ts");
    const { identity } = await this.#ground();
    const { by, clusterId } = await joinFresh(asked, {
      host: this.#host,
      platform: this.#platform,
      identity,
      audit: this.#audit,
    }, signal);
    this.#running = null;
    await running?.forget();
    await this.#bringUp(clusterId);
    return { joined: true, by, cluster: { id: clusterId } };
  }

  async #leave(body: JsonObject, signal: AbortSignal): Promise<JsonValue> {
    const { readLeave } = await import("./actions/bodies.ts");
    const { untilRestart } = readLeave(body);
    const { config, log, stateDir } = this.#host;
    const running = this.#open();
    if (untilRestart) {
      this.#running = null;
      this.#dormant = true;
      await running[Symbol.asyncDispose]();
      log.info("This node is out of the cluster until it is started again");
      return { left: true, untilRestart, told: [], untold: [] };
    }
    if (config.secret !== null) {
      throw new Fault(
        "invalid_request",
        "This node is in the cluster by its secret, which would bring it back at its next start; unset COVEY_CLUSTER_SECRET and restart it, and run `covey remove` for it on another member, or use `covey leave --until-restart`",
      );
    }
    const [{ sayFarewell }, { clearStanding }] = await Promise.all([
      import("./actions/farewell.ts"),
      import("./membership/standing_store.ts"),
    ]);
    const { told, untold } = await sayFarewell(running.means(), signal);
    this.#running = null;
    this.#dormant = true;
    await running.forget();
    await clearStanding(this.#platform.files, stateDir);
    log.info("This node has left the cluster");
    return { left: true, untilRestart, told, untold };
  }

  #ground(): Promise<Groundwork> {
    const reading = this.#groundwork ??
      readGroundwork(this.#host, this.#platform, this.#seams);
    this.#groundwork = reading;
    return reading;
  }

  /**
   * Open the cluster.
   *
   * @param invitedTo Label of the cluster of a node without a secret, else null.
   * @returns The label, or null when the node stopped meanwhile.
   */
  async #bringUp(invitedTo: string | null): Promise<string | null> {
    const { previousSecret, secret } = this.#host.config;
    const [
      { deriveClusterKeys },
      { SecretRing },
      { RunningCluster },
      ground,
    ] = await Promise.all([
      import("./identity/cluster_keys.ts"),
      import("./membership/secret_ring.ts"),
      import("./running_cluster.ts"),
      this.#ground(),
    ]);
    const derive = this.#seams.deriveKeys ?? deriveClusterKeys;
    const [keys, previousKeys] = await Promise.all([
      secret === null ? null : derive(secret),
      previousSecret === null ? null : derive(previousSecret),
    ]);
    const clusterId = keys?.clusterId ?? invitedTo;
    if (this.#life.signal.aborted || clusterId === null) return null;
    this.#running = await RunningCluster.open({
      ...ground,
      host: this.#host,
      platform: this.#platform,
      clusterId,
      previousClusterId: previousKeys?.clusterId ?? null,
      secrets: new SecretRing(keys, previousKeys),
      audit: this.#audit,
      healthChanges: this.#healthChanges,
      discover: this.#discover,
      pulls: this.#pulls,
    });
    this.#dormant = false;
    return clusterId;
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
