import {
  type AllyProgress,
  Fault,
  type Log,
  type ModelManifest,
  type ModelShelf,
  type NodeId,
  type PullAllies,
  type PullCopyWant,
  type PullLease,
  type PullOffer,
  type PullTurn,
  type PullWant,
} from "@covey/core/domain";
import type { Clock, Entropy } from "@covey/core/platform";
import { keyHashOfCertificate } from "../identity/key_hash.ts";
import type { LinkCredentials } from "../link/dial.ts";
import type { Peer } from "../membership/peer.ts";
import { ArrivalLog } from "./arrival_log.ts";
import { fetchManifest } from "./copy_calls.ts";
import { CopyPace } from "./copy_pace.ts";
import { finishedModel } from "./finished_model.ts";
import { askOffers } from "./offer_call.ts";
import type { PullQuestion } from "./pull_call.ts";
import { PullCopies, type PullCopiesOptions } from "./pull_copy.ts";
import { elect, type Standing } from "./pull_election.ts";
import { PullFollower, type PullMember } from "./pull_follower.ts";
import { joinOffers } from "./pull_offers.ts";
import { PullRelay } from "./pull_relay.ts";
import { askRound, meetMembers } from "./pull_round.ts";
import { PulledModels } from "./pulled_models.ts";

/** How often members are asked while one of them is waited for. */
const LOOK_EVERY_MS = 1000;
/** How often what is relayed is looked at, between. */
const FOLLOW_EVERY_MS = 250;
/** Members that have the model, and give nothing of it for so long, are given up. */
const GIVE_UP_MS = 30_000;
/** What turns need. */
export interface TurnsOptions extends PullCopiesOptions {
  readonly self: { readonly node: NodeId; readonly nodeName: string };
  readonly shelf: ModelShelf;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly credentials: LinkCredentials;
  peers(): readonly Peer[];
  /** Members that answer now. */
  candidates(): readonly PullMember[];
  /** Whether this machine answers callers now. */
  isBusy(): boolean;
}

interface Bid {
  phase: "bidding" | "fetching" | "waiting";
  /** Who asked about the same while this node asked around. */
  readonly bidders: Set<NodeId>;
  doneBytes: number;
  totalBytes: number | null;
  /** What has come of it here, for members; null where nobody knows how long it will be. */
  readonly arrivals: ArrivalLog | null;
  readonly want: PullWant;
}

/**
 * One download per cluster: a pull bids, asks every member, and then copies
 * from one that has it, takes what has come to one that fetches it, or fetches
 * it. What came lies in the pull's own partial files; else no state outlives the
 * process: after a restart a pull bids again.
 */
export class PullTurns implements PullAllies {
  readonly #options: TurnsOptions;
  readonly #bids = new Map<string, Bid>();
  readonly #models: PulledModels;
  readonly #copies: PullCopies;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#copies = new PullCopies(options);
    this.#models = new PulledModels(options.shelf, options.clock);
  }

  /** Say how this node stands to what a member wants to pull. */
  async answer(
    { key, node, sha256s }: PullQuestion,
  ): Promise<Standing> {
    const here = await this.#models.find(key, sha256s);
    if (here !== null) return { state: "has", ...here };
    const bid = this.#bids.get(key);
    if (bid === undefined) return { state: "none" };
    switch (bid.phase) {
      case "bidding":
        bid.bidders.add(node);
        return { state: "bidding" };
      case "fetching": {
        const { doneBytes, totalBytes } = bid;
        return { state: "fetching", doneBytes, totalBytes };
      }
      case "waiting":
        return { state: "waiting" };
      default:
        return bid.phase satisfies never;
    }
  }

  /** What has come here of a pull that runs; null where none of that key does. */
  arriving(
    key: string,
  ): { readonly arrivals: ArrivalLog; readonly want: PullWant } | null {
    const { arrivals, want } = this.#bids.get(key) ?? {};
    return arrivals === undefined || arrivals === null || want === undefined
      ? null
      : { arrivals, want };
  }

  /**
   * Let members know from now on what this node fetches already.
   *
   * @param want What it fetches.
   * @returns Held until that is over; null where another pull here is of the same.
   */
  attend(want: PullWant): PullLease | null {
    if (this.#bids.has(want.key)) return null;
    const bid = this.#bid(want, "fetching");
    return this.#lease(want, bid);
  }

  async turn(
    want: PullWant,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn> {
    const { life } = this.#options;
    try {
      return await this.#turn(want, tell, AbortSignal.any([signal, life]));
    } catch (error) {
      signal.throwIfAborted();
      throw life.aborted
        ? new Fault("shutting_down", "The node is shutting down")
        : error;
    }
  }

  async offers(
    source: string,
    signal: AbortSignal,
  ): Promise<readonly PullOffer[]> {
    const { candidates, clock } = this.#options;
    await meetMembers(this.#options, signal);
    const answers = candidates().map(async ({ channel }) => {
      try {
        return await askOffers(channel, source, { clock, signal });
      } catch {
        // One without models, of an older version, or silent, offers nothing.
        signal.throwIfAborted();
        return [];
      }
    });
    return joinOffers(await Promise.all(answers));
  }

  async copy(
    { maxBytesPerSecond, model, pull, root, sizeBytes }: PullCopyWant,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn & { readonly kind: "copied" } | null> {
    const { life } = this.#options;
    const ask = { root, model, bytesPerSecond: maxBytesPerSecond };
    const want = { pull, totalBytes: sizeBytes };
    try {
      const ends = AbortSignal.any([signal, life]);
      return await this.#copies.copy(want, ask, tell, ends);
    } catch (error) {
      signal.throwIfAborted();
      throw life.aborted
        ? new Fault("shutting_down", "The node is shutting down")
        : error;
    }
  }

  forget(pull: string): void {
    this.#copies.forget(pull);
  }

  async #turn(
    want: PullWant,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn> {
    const before = await this.#ownTurn(want, tell, signal);
    if (before !== null) return before;
    const bid = this.#bid(want, "bidding");
    let isLeased = false;
    try {
      await meetMembers(this.#options, signal);
      const turn = await this.#settle(want, bid, tell, signal);
      isLeased = turn.kind !== "copied";
      return turn;
    } finally {
      if (!isLeased) this.#end(bid);
    }
  }

  #bid(want: PullWant, phase: Bid["phase"]): Bid {
    const { key, parts, totalBytes } = want;
    const bid: Bid = {
      phase,
      bidders: new Set(),
      doneBytes: parts?.arrivedBytes ?? 0,
      totalBytes,
      arrivals: parts === null ? null : this.#logOf(parts),
      want,
    };
    this.#bids.set(key, bid);
    return bid;
  }

  #logOf(parts: NonNullable<PullWant["parts"]>): ArrivalLog {
    const { entropy, life, log } = this.#options;
    const pace = this.#pace(null);
    return new ArrivalLog({
      parts,
      log,
      name: () => entropy.bytes(16).toHex(),
      pace: () => pace.turn(0, life),
    });
  }

  #pace(bytesPerSecond: number | null): CopyPace {
    const { clock, isBusy } = this.#options;
    return new CopyPace({ clock, isBusy, bytesPerSecond });
  }

  #end({ arrivals, want: { key } }: Bid): void {
    this.#bids.delete(key);
    arrivals?.[Symbol.dispose]();
  }

  /** Two names may stand for one model: the second pull waits for the first one here. */
  async #ownTurn(
    want: PullWant,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn | null> {
    const { clock, self } = this.#options;
    const first = this.#bids.get(want.key);
    if (first === undefined) return null;
    for (let bid: Bid | undefined = first; bid !== undefined;) {
      const { doneBytes, totalBytes } = bid;
      tell({ kind: "waiting", member: self.nodeName, doneBytes, totalBytes });
      await clock.sleep(LOOK_EVERY_MS, signal);
      bid = this.#bids.get(want.key);
    }
    const here = await this.#models.find(want.key, want.sha256s);
    return here === null
      ? null
      : { kind: "copied", model: here.model, from: [] };
  }

  async #settle(
    want: PullWant,
    bid: Bid,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn> {
    const { self } = this.#options;
    await using relay = this.#relay(want);
    const spoilt = new Set<string>();
    let leader: NodeId | null = null;
    for (;;) {
      bid.phase = "bidding";
      bid.bidders.clear();
      const members = await askRound(this.#options, want, signal);
      // Nothing is awaited from here to the phase: who asks later hears of it.
      const choice = elect({
        self: self.node,
        members,
        bidders: bid.bidders,
        leader,
        spoilt,
      });
      if (choice.kind === "fetch") {
        bid.phase = "fetching";
        await relay?.drain(signal);
        return { kind: "fetch", lease: this.#lease(want, bid) };
      }
      bid.phase = "waiting";
      if (choice.kind === "wait") {
        leader = choice.node;
        relay?.follow(leader);
        const isWhole = await this.#follow(want, relay, choice, tell, signal);
        if (isWhole && !want.needsRoot) {
          return this.#relayed(want, bid, relay, null);
        }
        continue;
      }
      const { companions, root } = choice;
      if (relay !== null && (want.parts?.arrivedBytes ?? 0) > 0) {
        const isWhole = await this.#finish(want, relay, root, tell, signal);
        if (isWhole) return this.#relayed(want, bid, relay, root);
      } else {
        const { maxBytesPerSecond, model } = want;
        const ask = {
          root,
          model,
          bytesPerSecond: maxBytesPerSecond,
          ...companions === undefined ? {} : { companions },
        };
        const copied = await this.#copies.copy(want, ask, tell, signal);
        if (copied !== null) return copied;
      }
      spoilt.add(root);
    }
  }

  #relay(
    { key, maxBytesPerSecond, model, parts }: PullWant,
  ): PullRelay | null {
    if (parts === null) return null;
    const { candidates, clock, credentials, entropy, log } = this.#options;
    const pace = this.#pace(maxBytesPerSecond);
    const own = { sizes: parts.sizes, weights: parts.weights };
    return new PullRelay({
      parts,
      model,
      self: keyHashOfCertificate(credentials.certificatePem),
      clock,
      log,
      members: candidates,
      follower: (member, onWrong) =>
        new PullFollower({ key, own, member, credentials, clock, onWrong }),
      draw: () => entropy.float(),
      pace: (bytes, ends) => pace.turn(bytes, ends),
    });
  }

  /** Wait for a member that fetches, and take what has come to it; returns whether that is all. */
  async #follow(
    want: PullWant,
    relay: PullRelay | null,
    { doneBytes, name, totalBytes }: {
      readonly name: string;
      readonly doneBytes: number;
      readonly totalBytes: number | null;
    },
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock } = this.#options;
    for (let ms = 0; ms < LOOK_EVERY_MS; ms += FOLLOW_EVERY_MS) {
      if (relay !== null && relay.from.length > 0) {
        this.#tellOf(want, relay, tell);
      } else tell({ kind: "waiting", member: name, doneBytes, totalBytes });
      await clock.sleep(FOLLOW_EVERY_MS, signal);
      if (relay?.isComplete === true && !want.needsRoot) return true;
    }
    return false;
  }

  #tellOf(
    { parts, totalBytes }: PullWant,
    relay: PullRelay,
    tell: (progress: AllyProgress) => void,
  ): void {
    const all = parts?.sizes.reduce((sum, size) => sum + size, 0);
    tell({
      kind: "relaying",
      members: relay.from,
      doneBytes: parts?.arrivedBytes ?? 0,
      totalBytes: all ?? totalBytes ?? 0,
      bytesPerSecond: relay.bytesPerSecond,
    });
  }

  /** Take what is missing of a model that members have whole; returns whether all is here then. */
  async #finish(
    want: PullWant,
    relay: PullRelay,
    root: string,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock } = this.#options;
    const model = await this.#finished(want, root, signal);
    if (model === null) return false;
    relay.finish(model);
    let bytes = -1;
    let sinceMs = clock.monotonic();
    while (!relay.isComplete) {
      const arrivedBytes = want.parts?.arrivedBytes ?? 0;
      if (arrivedBytes !== bytes) sinceMs = clock.monotonic();
      bytes = arrivedBytes;
      if (relay.isShunned(root)) return false;
      if (clock.monotonic() - sinceMs > GIVE_UP_MS) return false;
      this.#tellOf(want, relay, tell);
      await clock.sleep(FOLLOW_EVERY_MS, signal);
    }
    return true;
  }

  /** Null where no member says what the root stands for, or it is not what is wanted. */
  async #finished(want: PullWant, root: string, signal: AbortSignal) {
    const { candidates, clock, credentials } = this.#options;
    const holders: PullMember[] = [];
    let model: ModelManifest | null = null;
    let along: ModelManifest | null = null;
    const means = { clock, signal };
    for (const member of candidates()) {
      try {
        model = await fetchManifest(member.channel, root, means);
        holders.push(member);
        const { companions } = model;
        if (companions === undefined || along !== null) continue;
        along = await fetchManifest(member.channel, companions, means);
      } catch {
        // One that does not have it, or does not answer, gives nothing of it.
        signal.throwIfAborted();
      }
    }
    if (model === null) return null;
    const found = { model, along, holders };
    return finishedModel(want, found, { clock, credentials });
  }

  #relayed(
    want: PullWant,
    bid: Bid,
    relay: PullRelay | null,
    root: string | null,
  ): PullTurn {
    const from = relay?.from ?? [];
    return { kind: "relayed", root, from, lease: this.#lease(want, bid) };
  }

  #lease({ key, model }: PullWant, bid: Bid): PullLease {
    return {
      tell: (doneBytes: number, totalBytes: number | null) => {
        bid.doneBytes = doneBytes;
        bid.totalBytes = totalBytes;
      },
      [Symbol.dispose]: () => {
        this.#end(bid);
        this.#models.add(key, model);
      },
    };
  }
}
