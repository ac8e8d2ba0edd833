import type { Log, NodeId } from "@covey/core/domain";
import type { Clock, Entropy } from "@covey/core/platform";
import {
  chooseInterfaces,
  explainChoice,
  type InterfaceUse,
  type NetworkInterface,
} from "./net/interface.ts";
import { canonicalAddress, type IpFamily } from "./net/ip_address.ts";
import type { OpenMulticastSocket } from "./net/multicast_socket.ts";
import {
  type EchoView,
  InterfaceService,
  type SpotView,
} from "./interface_service.ts";
import { Naming } from "./naming.ts";
import type { Sighting } from "./sighting.ts";
import { SightingCache } from "./sighting_cache.ts";

/**
 * How often interfaces are looked at. A node whose address has changed must be
 * found again within 5 s, so this is well below.
 */
const POLL_MS = 2_000;
const TICK_MS = 1_000;
const GOODBYE_MS = 500;
/** Conflicts are logged once in this time. */
const QUIET_MS = 600_000;

/** What discovery stands on. */
export interface DiscoveryOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** Names or addresses of interfaces to use; null for all usable ones. */
  readonly interfaces: readonly string[] | null;
  /** The machine's interfaces, now. */
  listInterfaces():
    | readonly NetworkInterface[]
    | Promise<readonly NetworkInterface[]>;
  readonly openSocket: OpenMulticastSocket;
  /** What is announced. `advertise` replaces the addresses found, if it is not empty. */
  readonly service: {
    readonly nodeId: NodeId;
    readonly port: number;
    readonly advertise: readonly string[];
  };
  /** Called with what others announce. It must not throw. */
  onSighting(sighting: Sighting): void;
}

/** How discovery fares on one interface in one family. */
export type DiscoveryState =
  & { readonly interface: string; readonly family: IpFamily }
  & (
    | { readonly state: "probing" | "announced" }
    | { readonly state: "degraded"; readonly reason: string }
  );

/** What the test of one socket found. */
export interface InterfaceTest extends EchoView {
  readonly interface: string;
}

/** Finds nodes on the link and lets them find this one. Disposing it says goodbye. */
export interface Discovery extends AsyncDisposable {
  state(): readonly DiscoveryState[];
  /** All interfaces of the machine as last seen, and which are used. */
  interfaces(): readonly InterfaceUse[];
  /** Send to the group on each used interface and listen for it, for at most 1 s. */
  test(): Promise<readonly InterfaceTest[]>;
  /** Ask again now, and look at the interfaces. */
  refresh(): void;
}

/**
 * Announce this node on the LAN and listen for others: DNS-SD (RFC 6763) of
 * `_covey._tcp.local` over multicast DNS (RFC 6762).
 *
 * @param options Ports and what is announced.
 * @returns Once the sockets have been opened or have failed to; it never
 *     rejects, since a node without multicast is still a node.
 */
export async function createDiscovery(
  options: DiscoveryOptions,
): Promise<Discovery> {
  const discovery = new LanDiscovery(options);
  await discovery.start();
  return discovery;
}

class LanDiscovery implements Discovery {
  readonly #options: DiscoveryOptions;
  readonly #advertise: readonly string[];
  readonly #naming: Naming;
  readonly #cache: SightingCache;
  readonly #services = new Map<string, InterfaceService>();
  #missing: readonly string[] = [];
  #uses: readonly InterfaceUse[] = [];
  #listFailure: string | null = null;
  #conflictToldMs = -Infinity;
  #timers: Disposable[] = [];
  #polling: Promise<void> | null = null;
  #isDisposed = false;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    this.#naming = new Naming(options.entropy);
    this.#cache = new SightingCache(options.service.nodeId);
    this.#advertise = options.service.advertise
      .map((text) => canonicalAddress(text))
      .filter((address) => address !== undefined);
    if (this.#advertise.length < options.service.advertise.length) {
      options.log.warn(
        "Some addresses to advertise are left out of multicast DNS: only IP addresses can be announced there",
        { advertise: options.service.advertise.join(",") },
      );
    }
  }

  async start(): Promise<void> {
    const { clock } = this.#options;
    await this.#poll();
    if (this.#isDisposed) return;
    this.#timers = [
      clock.every(TICK_MS, () => this.#tick()),
      clock.every(POLL_MS, () => void this.#poll()),
    ];
  }

  state(): readonly DiscoveryState[] {
    const lost = this.#missing.map((name) => ({
      interface: name,
      family: "IPv4" as const,
      state: "degraded" as const,
      reason: `there is no interface or address "${name}"`,
    }));
    const unlisted = this.#listFailure === null ? [] : [{
      interface: "all",
      family: "IPv4" as const,
      state: "degraded" as const,
      reason: this.#listFailure,
    }];
    const spots = [...this.#services].flatMap(([name, service]) =>
      service.views().map((view) => stateOf(name, view))
    );
    return [...unlisted, ...lost, ...spots];
  }

  interfaces(): readonly InterfaceUse[] {
    return this.#uses;
  }

  async test(): Promise<readonly InterfaceTest[]> {
    const tests = [...this.#services].map(async ([name, service]) =>
      (await service.testSpots()).map((one) => ({ ...one, interface: name }))
    );
    return (await Promise.all(tests)).flat();
  }

  refresh(): void {
    for (const service of this.#services.values()) service.askAgain();
    void this.#poll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    for (const timer of this.#timers) timer[Symbol.dispose]();
    this.#timers = [];
    await this.#polling;
    const services = [...this.#services.values()];
    this.#services.clear();
    using deadline = this.#options.clock.deadline(GOODBYE_MS);
    await Promise.all(services.map((one) => one.leave(deadline.signal)));
  }

  /** Look at the interfaces; one look at a time, owned by `#polling`. */
  #poll(): Promise<void> {
    if (this.#isDisposed) return Promise.resolve();
    this.#polling ??= this.#look().catch((error: unknown) => {
      const detail = error instanceof Error ? error.message : String(error);
      this.#options.log.error("Discovery failed to follow the interfaces", {
        detail,
      });
    }).finally(() => {
      this.#polling = null;
    });
    return this.#polling;
  }

  async #look(): Promise<void> {
    const { log } = this.#options;
    let all: readonly NetworkInterface[];
    try {
      all = await this.#options.listInterfaces();
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      const reason = `the interfaces of this machine can not be listed: ` +
        detail;
      if (this.#listFailure === null) log.warn(`Discovery: ${reason}`);
      this.#listFailure = reason;
      return;
    }
    this.#listFailure = null;
    const { interfaces } = this.#options;
    const { chosen, missing } = chooseInterfaces(all, interfaces);
    this.#uses = explainChoice(all, interfaces);
    for (const name of missing) {
      if (!this.#missing.includes(name)) {
        log.warn("Discovery: no such interface or address now", { name });
      }
    }
    this.#missing = missing;
    await this.#reconcile(chosen);
  }

  async #reconcile(chosen: readonly NetworkInterface[]): Promise<void> {
    const names = new Set(chosen.map((one) => one.name));
    const work: Promise<void>[] = [];
    for (const [name, service] of this.#services) {
      if (names.has(name)) continue;
      this.#services.delete(name);
      this.#cache.forget(name);
      this.#options.log.info("Discovery leaves an interface", { name });
      work.push(this.#leave(service));
    }
    for (const one of chosen) {
      const present = this.#services.get(one.name);
      const service = present ?? this.#serve(one);
      work.push(service.update(one, chosen));
    }
    await Promise.all(work);
  }

  async #leave(service: InterfaceService): Promise<void> {
    using deadline = this.#options.clock.deadline(GOODBYE_MS);
    await service.leave(deadline.signal);
  }

  #serve(one: NetworkInterface): InterfaceService {
    const { clock, entropy, log, openSocket, service } = this.#options;
    const created = new InterfaceService({
      clock,
      entropy,
      log,
      openSocket,
      service,
      advertise: this.#advertise,
      naming: this.#naming,
      cache: this.#cache,
      onSightings: (sightings) => this.#tell(sightings),
      onConflict: (during) => this.#onConflict(during),
    });
    this.#services.set(one.name, created);
    return created;
  }

  /** RFC 6762, 9: while probing the other was first; later both probe again and a tie decides. */
  #onConflict(during: "probing" | "announced"): void {
    const { clock, log } = this.#options;
    const nowMs = clock.monotonic();
    const waitMs = this.#naming.contest(nowMs);
    if (during === "probing") this.#naming.rename();
    for (const service of this.#services.values()) service.probe(waitMs);
    if (nowMs - this.#conflictToldMs < QUIET_MS) return;
    this.#conflictToldMs = nowMs;
    log.info("Another node on the LAN holds this node's service name", {
      action: during === "probing" ? "took a new name" : "checks its name",
    });
  }

  #tick(): void {
    this.#tell(this.#cache.expire(this.#options.clock.monotonic()));
    for (const service of this.#services.values()) service.refreshDue();
  }

  #tell(sightings: readonly Sighting[]): void {
    if (this.#isDisposed) return;
    for (const sighting of sightings) this.#options.onSighting(sighting);
  }
}

function stateOf(name: string, view: SpotView): DiscoveryState {
  const head = { interface: name, family: view.family };
  return view.degradedReason === null
    ? { ...head, state: view.isAnnounced ? "announced" : "probing" }
    : { ...head, state: "degraded", reason: view.degradedReason };
}
