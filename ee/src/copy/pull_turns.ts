import {
  type AllyProgress,
  Fault,
  type ModelShelf,
  type NodeId,
  originTextOf,
  type PullAllies,
  PullPaused,
  type PullTurn,
  type PullWant,
} from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { Peer } from "../membership/peer.ts";
import type { CopyDesk } from "./copy_desk.ts";
import { NotHeldError } from "./copy_error.ts";
import { sha256 } from "./gather.ts";
import { askStanding, type PullQuestion } from "./pull_call.ts";
import { elect, type MemberStanding, type Standing } from "./pull_election.ts";

/** How often members are asked while one of them is waited for. */
const LOOK_EVERY_MS = 1000;
/** How often a copy is looked at for the one who pulls. */
const FOLLOW_EVERY_MS = 250;
/** A copy to which no member gives anything for so long is given up for the source. */
const GIVE_UP_MS = 30_000;
/** After a start, how long members that were not met yet are waited for. */
const MEET_MS = 3000;
const MEET_EVERY_MS = 100;
/** How long, and how many, pulls that ended are told of by their key alone. */
const RECENT_MS = 10 * 60_000;
const MOST_RECENT = 64;

/** What turns need. */
export interface TurnsOptions {
  readonly self: { readonly node: NodeId; readonly nodeName: string };
  readonly shelf: ModelShelf;
  readonly desk: Pick<CopyDesk, "start" | "find" | "cancel" | "pause">;
  readonly clock: Clock;
  peers(): readonly Peer[];
  /** Aborts when the node stops. */
  readonly life: AbortSignal;
}

interface Bid {
  phase: "bidding" | "fetching" | "waiting";
  /** Who asked about the same while this node asked around. */
  readonly bidders: Set<NodeId>;
  doneBytes: number;
  totalBytes: number | null;
}

/**
 * One download per cluster: a pull bids, asks every member, and then copies
 * from one that has it, waits for one that fetches it, or fetches it. No state
 * outlives the process: after a restart a pull bids again.
 */
export class PullTurns implements PullAllies {
  readonly #options: TurnsOptions;
  readonly #bids = new Map<string, Bid>();
  /** Models that were fetched here, by key. */
  readonly #recent = new Map<string, { model: string; atMs: number }>();
  /** Copies that pulls paused in this process, by pull. After a restart they are paused copies like any other. */
  readonly #paused = new Map<string, string>();

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Say how this node stands to what a member wants to pull. */
  async answer(
    { key, node, sha256s }: PullQuestion,
  ): Promise<Standing> {
    const here = await this.#find(key, sha256s);
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

  forget(pull: string): void {
    const id = this.#paused.get(pull);
    this.#paused.delete(pull);
    if (id !== undefined && this.#options.desk.find(id)?.state === "paused") {
      this.#options.desk.cancel(id);
    }
  }

  async #turn(
    want: PullWant,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn> {
    const { key } = want;
    const before = await this.#ownTurn(want, tell, signal);
    if (before !== null) return before;
    const bid: Bid = {
      phase: "bidding",
      bidders: new Set(),
      doneBytes: 0,
      totalBytes: want.totalBytes,
    };
    this.#bids.set(key, bid);
    let isLeased = false;
    try {
      await this.#meet(signal);
      const turn = await this.#settle(want, bid, tell, signal);
      isLeased = turn.kind === "fetch";
      return turn;
    } finally {
      if (!isLeased) this.#bids.delete(key);
    }
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
    const here = await this.#find(want.key, want.sha256s);
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
    const { clock, self } = this.#options;
    const spoilt = new Set<string>();
    let leader: NodeId | null = null;
    for (;;) {
      bid.phase = "bidding";
      bid.bidders.clear();
      const members = await this.#ask(want, signal);
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
        return { kind: "fetch", lease: this.#lease(want, bid) };
      }
      bid.phase = "waiting";
      if (choice.kind === "wait") {
        const { doneBytes, name, node, totalBytes } = choice;
        leader = node;
        tell({ kind: "waiting", member: name, doneBytes, totalBytes });
        await clock.sleep(LOOK_EVERY_MS, signal);
        continue;
      }
      const copied = await this.#copy(want, choice.root, tell, signal);
      if (copied !== null) return copied;
      spoilt.add(choice.root);
    }
  }

  #lease({ key, model }: PullWant, bid: Bid) {
    return {
      tell: (doneBytes: number, totalBytes: number | null) => {
        bid.doneBytes = doneBytes;
        bid.totalBytes = totalBytes;
      },
      [Symbol.dispose]: () => {
        this.#bids.delete(key);
        this.#recent.set(key, {
          model,
          atMs: this.#options.clock.monotonic(),
        });
        for (const old of this.#recent.keys()) {
          if (this.#recent.size <= MOST_RECENT) break;
          this.#recent.delete(old);
        }
      },
    };
  }

  /** Returns null where it could not be copied. */
  async #copy(
    { maxBytesPerSecond, model, pull, totalBytes }: PullWant,
    root: string,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn | null> {
    const { clock, desk } = this.#options;
    const { id } = desk.start({
      root,
      model,
      bytesPerSecond: maxBytesPerSecond,
    });
    this.#paused.delete(pull);
    const from = new Set<string>();
    let givenAtMs = clock.monotonic();
    let doneBytes = -1;
    for (;;) {
      signal.throwIfAborted();
      const view = desk.find(id);
      if (view === undefined) return null;
      for (const name of view.sources) from.add(name);
      if (view.doneBytes !== doneBytes || view.state === "paused") {
        ({ doneBytes } = view);
        givenAtMs = clock.monotonic();
      }
      switch (view.state) {
        case "done":
          return { kind: "copied", model: view.model, from: [...from] };
        case "failed":
          return null;
        case "cancelled":
          throw new Fault("conflict", "The copy of the model was cancelled");
        case "paused":
        case "queued":
        case "checking":
        case "copying":
        case "waiting":
          break;
        default:
          return view.state satisfies never;
      }
      tell({
        kind: "copying",
        members: view.sources,
        doneBytes,
        totalBytes: view.totalBytes || (totalBytes ?? 0),
        bytesPerSecond: view.bytesPerSecond,
      });
      if (
        view.state === "waiting" && clock.monotonic() - givenAtMs > GIVE_UP_MS
      ) {
        desk.cancel(id);
        return null;
      }
      try {
        await clock.sleep(FOLLOW_EVERY_MS, signal);
      } catch (error) {
        if (signal.reason instanceof PullPaused) {
          await desk.pause(id);
          this.#paused.set(pull, id);
        } else if (!this.#options.life.aborted) desk.cancel(id);
        throw error;
      }
    }
  }

  async #ask(
    { key, sha256s }: PullWant,
    signal: AbortSignal,
  ): Promise<readonly MemberStanding[]> {
    const { clock, peers, self } = this.#options;
    return await Promise.all(
      peers().filter(({ monitor }) => monitor.health.state !== "offline").map(
        async ({ channel, monitor, row }) => {
          const question = { key, sha256s, node: self.node };
          const ask = async (): Promise<Standing> => {
            try {
              return await askStanding(channel, question, { clock, signal });
            } catch (error) {
              signal.throwIfAborted();
              // One without models, or of an older version, has no part in it.
              const isNone = error instanceof NotHeldError;
              return { state: isNone ? "none" : "silent" };
            }
          };
          const first = await ask();
          // One that was busy for a moment may be the very one that fetches.
          const standing = first.state === "silent" ? await ask() : first;
          return { node: row.id, name: monitor.name, standing };
        },
      ),
    );
  }

  /** A pull that goes on with the start of its node would else find nobody. */
  async #meet(signal: AbortSignal): Promise<void> {
    const { clock, peers } = this.#options;
    const untilMs = clock.monotonic() + MEET_MS;
    const isUnmet = ({ monitor }: Peer) =>
      monitor.held === null && monitor.health.failures === 0;
    while (peers().some(isUnmet) && clock.monotonic() < untilMs) {
      await clock.sleep(MEET_EVERY_MS, signal);
    }
  }

  /** A model here with the published digests, of the same origin, or fetched just now for the same key. */
  async #find(
    key: string,
    sha256s: readonly (string | null)[],
  ): Promise<{ readonly model: string; readonly root: string } | null> {
    const { clock, shelf } = this.#options;
    const recent = this.#recent.get(key);
    const isRecent = recent !== undefined &&
      clock.monotonic() - recent.atMs < RECENT_MS;
    for (const { name, root } of shelf.list()) {
      if (root === null) continue;
      if (isRecent && recent.model === name) return { model: name, root };
      const files = (await shelf.manifest(name))?.files ?? [];
      if (files.length !== sha256s.length) continue;
      // Published digests have the last word: what lies here may have changed.
      const isSame = sha256s.every((sha256, at) =>
        sha256 === null || sha256 === files[at]?.sha256
      );
      if (!isSame) continue;
      if (!sha256s.includes(null)) return { model: name, root };
      const origin = originTextOf(files.map((file) => file.origin));
      if (origin !== null && digestOf(origin) === key) {
        return { model: name, root };
      }
    }
    return null;
  }
}

function digestOf(text: string): string {
  return sha256(new TextEncoder().encode(text));
}
