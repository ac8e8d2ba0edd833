import { ageLoadState, ageQueue, type Offer } from "../../src/domain/mod.ts";
import type { EngineSnapshot } from "../../src/router/candidate.ts";
import { DispatchLedger } from "../../src/router/dispatch_ledger.ts";
import { LengthBook } from "../../src/router/length_book.ts";
import { placeOf, PrefixBook } from "../../src/router/prefix_book.ts";
import type { PrefixChain } from "../../src/router/prefix_chain.ts";
import { Standings } from "../../src/router/standings.ts";
import { EntryMoves } from "./flight_moves.ts";
import type { NodeReport, SimulatedNode } from "./simulated_node.ts";
import { KEEP_ALIVE_MS } from "./simulated_models.ts";
import type { Job } from "./workload.ts";
import type { VirtualClock } from "./virtual_clock.ts";

/** One node as an entry sees it through counts, for rules that count. */
export interface Sight {
  readonly index: number;
  /** Attempts there: as reported, and this entry's own since. */
  readonly inFlight: number;
  readonly waiting: number;
  /** The same as work, in milliseconds of one slot. */
  readonly workMs: number;
  readonly slots: number;
  /** What it is known to do, relative to the reference machine. */
  readonly speed: number;
  readonly batchSlowdown: number;
  readonly busy: number;
  readonly p75Ms: number;
  readonly ageMs: number;
  readonly warm: ReadonlySet<string>;
  readonly room: number;
}

/** Device name that every simulated node has. */
export const DEVICE = "device";

/** An entry node: what it was told, its own dispatches, and how its attempts fared. */
export class SimulatedEntry {
  readonly node: SimulatedNode;
  readonly ledger: DispatchLedger = new DispatchLedger();
  readonly standings: Standings = new Standings();
  readonly lengths: LengthBook = new LengthBook();
  readonly moves: EntryMoves;
  readonly #prefixes = new PrefixBook();
  readonly #clock: VirtualClock;
  readonly #nodes: readonly SimulatedNode[];
  readonly #hopMs: number;
  readonly #reports: NodeReport[];

  constructor(
    node: SimulatedNode,
    nodes: readonly SimulatedNode[],
    options: { readonly clock: VirtualClock; readonly hopMs: number },
  ) {
    this.node = node;
    this.#nodes = nodes;
    this.#clock = options.clock;
    this.moves = new EntryMoves(options.clock);
    node.onFree = () => this.moves.ring();
    this.#hopMs = options.hopMs;
    this.#reports = nodes.map((one) => one.report());
  }

  /** Take a node's report in, unless a later one came before it. */
  hear(index: number, report: NodeReport): void {
    const before = this.#reports[index];
    if (before !== undefined && before.atMs > report.atMs) return;
    this.#reports[index] = report;
  }

  /** How a node looks to a rule that counts. */
  sight(index: number): Sight {
    const node = this.#node(index);
    const report = this.#report(index);
    const unseen = this.#unseen(node, report);
    return {
      index,
      inFlight: report.running + report.waiting + unseen.length,
      waiting: report.waiting + unseen.length,
      workMs: report.workMs + unseen.reduce((sum, ms) => sum + ms, 0),
      slots: node.spec.slots,
      speed: node.spec.speed,
      batchSlowdown: node.spec.batchSlowdown,
      busy: report.busy,
      p75Ms: report.p75Ms,
      ageMs: this.#clock.monotonic() - report.atMs,
      warm: report.warm,
      room: node.spec.room,
    };
  }

  /** Note that a node has evaluated a job's prompt. */
  keepPrefix(node: SimulatedNode, job: Job): void {
    if (job.conversation === null) return;
    const nowMs = this.#clock.monotonic();
    this.#prefixes.keep(placeOf(keyOf(node), job.model), chainOf(job), {
      answerTokens: job.outputTokens,
      capacity: Math.max(1, node.spec.prefixes),
      untilMs: nowMs + KEEP_ALIVE_MS,
    }, nowMs);
  }

  /** What is believed to be cached of a job's prompt, by place. */
  cachedTokens(job: Job): ReadonlyMap<string, number> {
    return job.conversation === null
      ? new Map()
      : this.#prefixes.look(chainOf(job), this.#clock.monotonic());
  }

  /**
   * How a node looks to the router.
   *
   * @param index Of the node.
   * @param cached From `cachedTokens`.
   */
  snapshot(
    index: number,
    cached: ReadonlyMap<string, number>,
  ): EngineSnapshot {
    const node = this.#node(index);
    const report = this.#report(index);
    const isSelf = node === this.node;
    const key = keyOf(node);
    const nowMs = this.#clock.monotonic();
    const seen = isSelf ? Infinity : report.seen[this.node.id] ?? 0;
    return {
      key,
      node: node.id,
      nodeName: node.spec.name,
      engine: "engine",
      view: {
        availability: { kind: "available" },
        hop: isSelf
          ? { medianMs: 0, jitterMs: 0 }
          : { medianMs: this.#hopMs, jitterMs: this.#hopMs / 10 },
        offers: isSelf
          ? node.offers()
          : aged(report.offers, nowMs - report.atMs),
        dispatchesSeen: seen,
      },
      unseenMs: (device) => this.ledger.unseenMs(node.id, device, seen),
      unseenModel: (device) => this.ledger.unseenModel(node.id, device, seen),
      doubt: this.standings.doubt({ key, node: node.id }, nowMs),
      bar: this.standings.bar({ key, node: node.id }, nowMs),
      cachedTokens: (model) => cached.get(placeOf(key, model)) ?? 0,
    };
  }

  #unseen(node: SimulatedNode, report: NodeReport): readonly number[] {
    if (node === this.node) return [];
    return this.ledger.unseenMs(
      node.id,
      DEVICE,
      report.seen[this.node.id] ?? 0,
    );
  }

  #node(index: number): SimulatedNode {
    const node = this.#nodes[index];
    if (node === undefined) throw new RangeError(`No node ${index}`);
    return node;
  }

  #report(index: number): NodeReport {
    const node = this.#node(index);
    if (node === this.node) return node.report();
    return this.#reports[index] ?? node.report();
  }
}

/** Name of a node's engine over all nodes. */
export function keyOf(node: SimulatedNode): string {
  return `${node.id}/engine`;
}

/** A conversation is known by its name alone here: simulated prompts have no text. */
function chainOf({ conversation, promptTokens }: Job): PrefixChain {
  return { marks: [], conversation, promptTokens };
}

function aged(offers: readonly Offer[], elapsedMs: number): readonly Offer[] {
  return offers.map((offer) => ({
    ...offer,
    state: ageLoadState(offer.state, elapsedMs),
    queue: ageQueue(offer.queue, elapsedMs),
  }));
}
