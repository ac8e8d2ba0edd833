import type { Log, NodeId } from "@covey/core/domain";
import type { Clock, Entropy } from "@covey/core/platform";
import { Channel } from "./channel.ts";
import { type DnsMessage, MDNS_PORT } from "./dns/message.ts";
import { type OwnRecords, serviceRecords } from "./dns/service_records.ts";
import type { Naming } from "./naming.ts";
import {
  announcedAddresses,
  isOnLink,
  multicastAddress,
  type NetworkInterface,
} from "./net/interface.ts";
import { MulticastEcho } from "./multicast_echo.ts";
import type { IpFamily } from "./net/ip_address.ts";
import type { Endpoint, OpenMulticastSocket } from "./net/multicast_socket.ts";
import { Querier } from "./querier.ts";
import { Responder } from "./responder.ts";
import type { Sighting } from "./sighting.ts";
import type { SightingCache } from "./sighting_cache.ts";

const FAMILIES: readonly IpFamily[] = ["IPv4", "IPv6"];

/** What the service of an interface stands on. */
export interface InterfaceServicePorts {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly openSocket: OpenMulticastSocket;
  readonly service: { readonly nodeId: NodeId; readonly port: number };
  /** Addresses told in place of those found; none for those found. */
  readonly advertise: readonly string[];
  readonly naming: Naming;
  readonly cache: SightingCache;
  onSightings(sightings: readonly Sighting[]): void;
  onConflict(during: "probing" | "announced"): void;
}

/** How one socket of the interface fares. */
export interface SpotView {
  readonly family: IpFamily;
  readonly isAnnounced: boolean;
  readonly degradedReason: string | null;
}

/** What a test of one socket found. */
export interface EchoView extends SpotView {
  /** Whether what was sent to the group came back to this very socket. */
  readonly heardOwn: boolean;
  /** Time since another machine was last heard in this family, or null. */
  readonly heardOthersAgoMs: number | null;
}

interface Spot {
  readonly family: IpFamily;
  /** Changes with whatever makes another socket necessary. */
  readonly signature: string;
  readonly channel: Channel;
  readonly responder: Responder;
}

interface Place {
  readonly one: NetworkInterface;
  readonly told: readonly string[];
}

/** Discovery on one interface: a socket and a responder a family, and one querier. */
export class InterfaceService {
  readonly #ports: InterfaceServicePorts;
  readonly #spots = new Map<IpFamily, Spot>();
  readonly #querier: Querier;
  readonly #reported = new Set<string>();
  readonly #echo = new MulticastEcho();
  /** When another machine was last heard, by family; monotonic. */
  readonly #heardMs = new Map<IpFamily, number>();
  #place: Place | null = null;

  constructor(ports: InterfaceServicePorts) {
    this.#ports = ports;
    const { clock, entropy, cache } = ports;
    const nowMs = () => clock.monotonic();
    this.#querier = new Querier({
      clock,
      entropy,
      known: () => {
        const place = this.#place;
        if (place === null) return [];
        const known = cache.knownPointers(place.one.name, nowMs());
        // Its own pointer too, or this node would answer itself.
        return [...this.#records().shared.slice(0, 1), ...known];
      },
      due: () =>
        this.#place === null
          ? []
          : cache.questionsDue(this.#place.one.name, nowMs()),
      send: (message) => {
        for (const { channel } of this.#spots.values()) channel.send(message);
      },
    });
  }

  /**
   * Follow the interface: open what is new, close what is gone, tell what changed.
   *
   * @param one The interface as it is now.
   * @param chosen All interfaces in use.
   */
  async update(
    one: NetworkInterface,
    chosen: readonly NetworkInterface[],
  ): Promise<void> {
    const told = this.#ports.advertise.length > 0
      ? this.#ports.advertise
      : announcedAddresses(one, chosen);
    const before = this.#place;
    const isMoved = JSON.stringify(before?.one) !== JSON.stringify(one);
    const isRetold = JSON.stringify(before?.told) !== JSON.stringify(told);
    if (!isMoved && !isRetold) return;
    this.#place = { one, told };
    if (before !== null && isMoved) this.#ports.cache.forget(one.name);
    const opened: Promise<void>[] = [];
    for (const family of FAMILIES) {
      const address = multicastAddress(one, family);
      const signature = `${address} ${one.index}`;
      const spot = this.#spots.get(family);
      if (spot !== undefined && spot.signature === signature) {
        if (spot.responder.state === "announced") spot.responder.announce();
        continue;
      }
      if (spot !== undefined) {
        this.#spots.delete(family);
        spot.responder[Symbol.dispose]();
        opened.push(Promise.resolve(spot.channel[Symbol.asyncDispose]()));
      }
      if (address !== undefined) {
        opened.push(this.#openSpot(one, family, address, signature));
      }
    }
    if (before !== null && isMoved) this.#querier.restart();
    await Promise.all(opened);
  }

  views(): readonly SpotView[] {
    if (this.#spots.size === 0) {
      const degradedReason = "it has no address that multicast can go out from";
      return [{ family: "IPv4", isAnnounced: false, degradedReason }];
    }
    return [...this.#spots.values()].map(({ family, channel, responder }) => ({
      family,
      isAnnounced: responder.state === "announced",
      degradedReason: channel.degradedReason,
    }));
  }

  /** Test each socket: whether it hears itself, and when it heard others. */
  async testSpots(): Promise<readonly EchoView[]> {
    const { clock, entropy } = this.#ports;
    const tested = await Promise.all(
      [...this.#spots.values()].map((spot) =>
        this.#echo.run({
          clock,
          entropy,
          send: (message) => spot.channel.send(message),
        }).then((heardOwn) => [spot.family, heardOwn] as const)
      ),
    );
    const heardOwn = new Map(tested);
    return this.views().map((view) => {
      const heardMs = this.#heardMs.get(view.family);
      return {
        ...view,
        heardOwn: heardOwn.get(view.family) ?? false,
        heardOthersAgoMs: heardMs === undefined
          ? null
          : clock.monotonic() - heardMs,
      };
    });
  }

  /** Ask for others now. */
  askAgain(): void {
    this.#querier.restart();
  }

  /** Ask for what is soon to run out; to be called each second. */
  refreshDue(): void {
    this.#querier.refreshDue();
  }

  /** Probe the names, which are others now or in doubt, on all sockets that work. */
  probe(waitMs: number): void {
    for (const { responder } of this.#spots.values()) {
      if (responder.state !== "stopped") responder.probe(waitMs);
    }
  }

  /**
   * Say goodbye and close.
   *
   * @param signal When to stop waiting for the goodbye to go out.
   */
  async leave(signal: AbortSignal): Promise<void> {
    this.#querier[Symbol.dispose]();
    const spots = [...this.#spots.values()];
    for (const { channel, responder } of spots) {
      const goodbye = responder.goodbye();
      if (goodbye !== null) channel.send(goodbye);
      responder[Symbol.dispose]();
    }
    const drained = Promise.all(spots.map(({ channel }) => channel.drained()));
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const onAbort = () => resolve();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) resolve();
    await Promise.race([drained, late]);
    signal.removeEventListener("abort", onAbort);
    this.#spots.clear();
    await Promise.all(
      spots.map(({ channel }) => channel[Symbol.asyncDispose]()),
    );
  }

  async #openSpot(
    one: NetworkInterface,
    family: IpFamily,
    address: string,
    signature: string,
  ): Promise<void> {
    const { clock, entropy, naming, onConflict } = this.#ports;
    const channel = new Channel(one, family, address, {
      clock,
      open: this.#ports.openSocket,
      onMessage: (message, from) => this.#hear(responder, message, from),
      onOpen: () => {
        this.#reported.delete(family);
        // A newcomer asks before its own names are probed, so that it finds
        // the others without waiting for itself.
        this.#querier.greet((message) => channel.send(message));
        if (naming.isVerified(one.name)) responder.announce();
        else responder.probe();
      },
      onDegraded: (reason) => {
        responder[Symbol.dispose]();
        this.#report(one.name, family, reason);
      },
    });
    const responder = new Responder({
      clock,
      entropy,
      records: () => this.#records(),
      send: (message, to) => channel.send(message, to),
      remember: (keys) => naming.remember(keys),
      isOwn: (key) => naming.isOwn(key),
      onConflict,
      onAnnounced: () => naming.verify(one.name),
    });
    this.#spots.set(family, { family, signature, channel, responder });
    await channel.open();
  }

  #hear(responder: Responder, message: DnsMessage, from: Endpoint): void {
    const place = this.#place;
    // A socket hears the group on every interface of the machine, so the
    // sender's address says whether this one is meant (RFC 6762, 11).
    if (place === null || !isOnLink(place.one, from.address)) return;
    if (message.kind === "response" && from.port !== MDNS_PORT) return;
    this.#note(place.one, message, from);
    responder.hear(message, from);
    if (message.kind === "query") return;
    const nowMs = this.#ports.clock.monotonic();
    this.#ports.onSightings(this.#ports.cache.hear(message, place.one, nowMs));
  }

  #note(one: NetworkInterface, message: DnsMessage, from: Endpoint): void {
    const own = one.addresses.find(({ address }) => address === from.address);
    if (own !== undefined) this.#echo.hear(message);
    else {
      this.#heardMs.set(
        from.address.includes(":") ? "IPv6" : "IPv4",
        this.#ports.clock.monotonic(),
      );
    }
  }

  #records(): OwnRecords {
    const { naming, service } = this.#ports;
    return serviceRecords(naming.names, service, this.#place?.told ?? []);
  }

  #report(name: string, family: IpFamily, reason: string): void {
    if (this.#reported.has(family)) return;
    this.#reported.add(family);
    const fields = { interface: name, family, reason };
    const message =
      "Discovery does not work on an interface now; other ways to find members go on, and it is tried again";
    // Many links have no working IPv6, and need none.
    if (family === "IPv6") this.#ports.log.info(message, fields);
    else this.#ports.log.warn(message, fields);
  }
}
