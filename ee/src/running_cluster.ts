import type { Counter, Engine, Host, MemberView } from "@covey/core/domain";
import type { Platform } from "@covey/core/platform";
import type { ActionMeans } from "./actions/action_means.ts";
import { spreadNews } from "./actions/spread_news.ts";
import type { AuditLog } from "./audit/audit_log.ts";
import { ClusterGate } from "./cluster_gate.ts";
import { ClusterCopies } from "./copy/cluster_copies.ts";
import type { StandingPulls } from "./copy/standing_pulls.ts";
import type { Discovery, DiscoveryOptions, Sighting } from "./discovery/mod.ts";
import type { Patient } from "./doctor/consult.ts";
import type { KeyHash } from "./identity/key_hash.ts";
import { type MachineFacts, machineTag } from "./identity/machine_facts.ts";
import type { NodeIdentity } from "./identity/node_identity.ts";
import type { Licence } from "./licence/licence.ts";
import type { LinkCredentials } from "./link/dial.ts";
import { formatAddress } from "./link/link_address.ts";
import { LinkServer } from "./link/link_server.ts";
import { CloneGuard } from "./membership/clone_guard.ts";
import { Dialer } from "./membership/dialer.ts";
import { MemberStore } from "./membership/member_store.ts";
import { type Applicant, Membership } from "./membership/membership.ts";
import { Notes } from "./membership/notes.ts";
import type { Peer } from "./membership/peer.ts";
import { Peers } from "./membership/peers.ts";
import type { SecretRing } from "./membership/secret_ring.ts";
import type { StatusMessage } from "./membership/status_message.ts";
import { ClusterPacks } from "./packs/cluster_packs.ts";
import type { SshTunnels } from "./ssh/ssh_tunnels.ts";
import { LinkAnswers } from "./link_answers.ts";
import { LinkCalls } from "./link_calls.ts";
import { enginesInReach, viewMembers } from "./member_views.ts";
import { reachNamedPeers } from "./named_peers.ts";
import { TwinWatch } from "./twin_watch.ts";
import { isWildcard, Whereabouts } from "./whereabouts.ts";

/** Starts discovery; tests put another one in its place. */
export type Discover = (
  options: Pick<DiscoveryOptions, "interfaces" | "service" | "onSighting">,
) => Promise<Discovery>;

/** What a running cluster is made of. */
export interface RunningOptions {
  readonly host: Host;
  readonly platform: Platform;
  readonly identity: NodeIdentity & LinkCredentials;
  /** Label of the cluster, by which its table is kept. */
  readonly clusterId: string;
  /** The label before a rotation of the secret: its table is carried over. */
  readonly previousClusterId: string | null;
  /** Empty for a node that is in the cluster by invitation. */
  readonly secrets: SecretRing;
  readonly audit: AuditLog;
  /** Counts changes of members' health, by what they became. */
  readonly healthChanges: Counter;
  /** This node's licence, checked, or null. */
  readonly licence: Licence | null;
  readonly machine: MachineFacts;
  readonly discover: Discover;
  /** Pulls of this node, which outlive its clusters. */
  readonly pulls: StandingPulls;
}

/** The cluster once its keys are there: wires link, membership, admission and discovery. */
export class RunningCluster implements AsyncDisposable {
  readonly clusterId: string;
  /** Models copied between members. */
  readonly copies: ClusterCopies;
  /** Engine packs handed between members. */
  readonly packs: ClusterPacks;
  readonly #options: RunningOptions;
  readonly #bootId: string;
  readonly #places: Whereabouts;
  readonly #store: MemberStore;
  readonly #membership: Membership;
  readonly #gate: ClusterGate;
  readonly #answers: LinkAnswers;
  readonly #notes: Notes;
  readonly #guard: CloneGuard;
  readonly #peers: Peers;
  readonly #dialer: Dialer;
  readonly #stack = new AsyncDisposableStack();
  readonly #life = new AbortController();
  readonly #calls: LinkCalls;
  readonly #twin: TwinWatch;
  #server: LinkServer | null = null;
  #tunnels: SshTunnels | null = null;
  #discovery: Discovery | null = null;

  /**
   * Open the link and look for peers.
   *
   * @throws {Error} When the link's port can not be had; the message names it.
   */
  static async open(options: RunningOptions): Promise<RunningCluster> {
    const { clusterId, host, platform, previousClusterId } = options;
    const store = new MemberStore({
      files: platform.files,
      log: host.log,
      stateDir: host.stateDir,
      clusterId,
      previousClusterId,
    });
    const cluster = new RunningCluster(options, store, await store.load());
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(
    options: RunningOptions,
    store: MemberStore,
    saved: Awaited<ReturnType<MemberStore["load"]>>,
  ) {
    const { audit, clusterId, host, identity, platform } = options;
    const { clock, entropy } = platform;
    const { log } = host;
    const tag = machineTag(options.machine, clusterId);
    const self: Applicant = {
      id: identity.id,
      keyHash: identity.keyHash,
      name: host.node.name,
      ...host.node.role === "controller" ? { role: "controller" } : {},
      ...tag === undefined ? {} : { tag },
    };
    this.#notes = new Notes(log);
    this.clusterId = clusterId;
    this.#options = options;
    this.#bootId = entropy.uuid();
    this.#store = this.#stack.use(store);
    this.#places = new Whereabouts({
      config: host.config,
      port: () => this.#port,
      interfaces: () => this.#discovery?.interfaces() ?? [],
      callbackPort: (address) => this.#tunnels?.callbackPort(address),
      isMember: (keyHash) => this.#membership.memberOf(keyHash) !== undefined,
    });
    const { book } = this.#places;
    for (const [keyHash, addresses] of saved.addresses) {
      for (const address of addresses.toReversed()) book.met(keyHash, address);
    }
    this.#membership = new Membership({
      self,
      rows: saved.rows,
      log,
      seats: {
        licence: options.licence,
        nowMs: () => clock.now(),
        isOffline: (keyHash) => this.#isAway(keyHash),
      },
      onChange: () => this.#follow(),
      onStanding(row, standing, from) {
        // What this node did itself is noted where it was done.
        if (standing !== "removed" || from === "here") return;
        const { id, name } = row;
        audit.note({ event: "removed", name, id, expelled: false, by: from });
      },
    });
    this.#calls = new LinkCalls({
      credentials: identity,
      bootId: this.#bootId,
      clock,
      question: (keyHash) => this.#question(keyHash),
    });
    this.#twin = new TwinWatch(this.#bootId, this.#calls, this.#notes);
    this.#guard = new CloneGuard({
      bootAt: (keyHash, address, signal) =>
        this.#calls.bootAt(keyHash, address, signal),
      nameOf: (keyHash) => this.#membership.rowOf(keyHash)?.name ?? "a member",
      onBelieved: (keyHash) => this.#peers.get(keyHash)?.monitor.pollNow(),
      notes: this.#notes,
    });
    this.#gate = new ClusterGate({
      ...options,
      self,
      saved,
      membership: this.#membership,
      book,
      notes: this.#notes,
      linkPort: () => this.#port,
      onChange: () => this.#save(),
    });
    this.#peers = new Peers({
      self: identity.id,
      credentials: identity,
      clock,
      log,
      book,
      bootId: this.#bootId,
      question: (keyHash) => this.#question(keyHash),
      judge: async ({ channel, row }, { bootId }, signal) => {
        const { address } = channel;
        const why = await this.#guard.judge(
          row.keyHash,
          bootId,
          address,
          signal,
        );
        // What the copy's address was learned for is the member's no more.
        const first = this.#guard.holderAt(row.keyHash);
        if (why !== null && first !== null) book.met(row.keyHash, first);
        return why;
      },
      onHeldCopy: (peer, reason) => this.#twin.heldBy(peer.row.keyHash, reason),
      onStatus: (peer, status) => this.#onStatus(peer, status),
      onHealth: (to) => options.healthChanges.add(1, { to }),
      onMet: () => this.#save(),
    });
    this.copies = new ClusterCopies({ ...options, peers: this.#peers });
    this.packs = new ClusterPacks({ ...options, peers: this.#peers });
    this.#dialer = new Dialer({
      own: identity.keyHash,
      clock,
      entropy,
      log,
      dial: (addresses, signal) => this.#calls.dial(addresses, null, signal),
      isMember: (keyHash) =>
        this.#membership.memberOf(keyHash) !== undefined &&
        !this.#membership.wantsSeat,
      onMember: (keyHash, address, sighted) => {
        this.#places.dialled(keyHash, address, sighted);
        this.#peers.get(keyHash)?.monitor.pollNow();
      },
      onOwnKey: (met, signal) => this.#twin.check(met, signal),
      admit: (met, signal) => this.#gate.office.ask(met, signal),
    });
    this.#answers = new LinkAnswers({
      ...options,
      bootId: this.#bootId,
      membership: this.#membership,
      peers: this.#peers,
      places: this.#places,
      guard: this.#guard,
      door: this.#gate.door,
      port: () => this.#port,
      onCopy: (address) => this.#twin.seenAt(address),
      life: this.#life.signal,
    });
  }

  /** Peers' engines, but for those of members without a seat. */
  engines(): readonly Engine[] {
    const { keyHash } = this.#options.identity;
    const sources = { membership: this.#membership, peers: this.#peers };
    return enginesInReach(sources, keyHash);
  }

  members(): readonly MemberView[] {
    return viewMembers({
      host: this.#options.host,
      clock: this.#options.platform.clock,
      self: this.#options.identity.id,
      membership: this.#membership,
      peers: this.#peers,
      places: this.#places,
      notes: this.#notes,
    });
  }

  /** Have the others look at this node now. */
  announce(): void {
    const { signal } = this.#life;
    // Whoever is told asks; who can not be reached asks by itself.
    spreadNews(this.means(), this.#peers.list(), [], signal).catch(() => {});
  }

  /** What operators' actions may touch. */
  means(): ActionMeans {
    const { audit, clusterId, host, identity, platform, secrets } =
      this.#options;
    const { door, invitations, office } = this.#gate;
    return {
      host,
      platform,
      clusterId,
      own: identity.keyHash,
      hasSecret: !secrets.isEmpty,
      membership: this.#membership,
      peers: this.#peers,
      door,
      invitations,
      audit,
      office,
      noteMet: (keyHash, address) => {
        this.#places.book.hint(keyHash, address);
        this.#peers.get(keyHash)?.monitor.pollNow();
      },
      lookAround: () => this.#discovery?.refresh(),
      ownAddresses: () => this.#places.own(),
      dial: (...met) => this.#calls.dial(...met),
    };
  }

  /** What the doctor may touch. */
  patient(): Extract<Patient, { state: "running" }> {
    return {
      state: "running",
      means: {
        credentials: this.#options.identity,
        linkHost: this.#options.host.config.linkHost,
        linkPort: this.#port,
        peers: this.#peers.list(),
        outsiders: this.#dialer.failed(),
        places: this.#places,
        discovery: this.#discovery,
        tunnels: this.#tunnels,
        question: (keyHash) => this.#question(keyHash),
      },
    };
  }

  /** Close everything, and keep nothing of this cluster. */
  async forget(): Promise<void> {
    await this[Symbol.asyncDispose]();
    await this.#store.forget();
  }

  /** Says goodbye first, then stops to ask, then closes what is open. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new DOMException("The node is stopping", "AbortError"));
    await this.#stack.disposeAsync();
  }

  get #port(): number {
    return this.#server?.port ?? this.#options.host.config.linkPort;
  }

  async #start(): Promise<void> {
    const { discover, host, identity, platform } = this.#options;
    const { config, log } = host;
    const answers = this.#answers;
    this.#server = this.#stack.use(
      await LinkServer.open({
        host: config.linkHost,
        port: config.linkPort,
        credentials: identity,
        clock: platform.clock,
        log,
        member: (keyHash) => answers.member(keyHash),
        admission: this.#gate.desk,
        status: (caller, query) => answers.status(caller, query),
        copyOf: (caller, query) => answers.copyOf(caller, query),
        tell: (caller, body) => answers.tell(caller, body),
        drain: (caller, body) => answers.drain(caller, body),
        ...answers.test === null ? {} : { test: answers.test },
        callBack: (caller, query) => answers.callBack(caller, query),
        serve: answers.serve,
        others: [this.copies, this.packs],
      }),
    );
    log.info("The member link is open", {
      address: formatAddress({ host: config.linkHost, port: this.#port }),
    });
    this.#stack.use(this.packs);
    const owned = [this.#guard, this.#peers, this.#dialer, this.copies];
    for (const one of owned) this.#stack.use(one);
    await this.copies.start();
    this.#follow();
    this.#tunnels = this.#stack.use(
      reachNamedPeers({
        host,
        platform,
        places: this.#places,
        dialer: this.#dialer,
      }),
    );
    this.#discovery = this.#stack.use(
      await discover({
        // A link bound to one address is announced where that address is.
        interfaces: config.mdnsInterfaces ??
          (isWildcard(config.linkHost) ? null : [config.linkHost]),
        service: {
          nodeId: identity.id,
          port: this.#port,
          advertise: config.advertise,
        },
        onSighting: (sighting) => this.#onSighting(sighting),
      }),
    );
  }

  #onSighting(sighting: Sighting): void {
    const { claimedId, instance } = sighting;
    const keyHash = this.#membership.keyOf(claimedId);
    const name = `sighting ${instance}`;
    if (sighting.kind === "goodbye") {
      this.#dialer.drop(name);
      // Only a hint: the next poll tells.
      if (keyHash !== undefined) this.#peers.get(keyHash)?.monitor.pollNow();
      return;
    }
    const addresses = sighting.addresses.map((host) => ({
      host,
      port: sighting.port,
    }));
    // Who claims this node's own id is itself, or a copy: the dial tells.
    if (keyHash === undefined || keyHash === this.#options.identity.keyHash) {
      this.#dialer.add(name, "sighting", addresses);
      return;
    }
    this.#places.book.sighted(keyHash, addresses);
    const peer = this.#peers.get(keyHash);
    if (peer?.monitor.health.state !== "healthy") peer?.monitor.pollNow();
  }

  #onStatus(peer: Peer, status: StatusMessage): void {
    this.#gate.door.merge(status.door, peer.monitor.name);
    this.#membership.merge(status.rows, peer.monitor.name);
    this.#places.learn(peer, status);
  }

  /** Whether a member was found to be gone, and not only not met yet. */
  #isAway(keyHash: KeyHash): boolean {
    const health = this.#peers.get(keyHash)?.monitor.health;
    return health?.state === "offline" && health.failures > 0;
  }

  #question(keyHash: KeyHash) {
    return {
      linkPort: this.#port,
      rowsDigest: this.#membership.digest,
      callback: this.#places.callback(keyHash),
    };
  }

  #follow(): void {
    for (const keyHash of this.#peers.follow(this.#membership.peers())) {
      this.#server?.expel(keyHash);
      this.#places.forget(keyHash);
      this.#guard.forget(keyHash);
    }
    this.#save();
  }

  #save(): void {
    const rows = this.#membership.rows();
    this.#store.save({
      ...this.#gate.door.saved,
      rows,
      addresses: new Map(
        rows.map(({ keyHash }) => [keyHash, this.#places.book.metAt(keyHash)]),
      ),
    });
  }
}
