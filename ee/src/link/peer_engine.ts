import {
  type Attempt,
  type Availability,
  type Engine,
  type EngineView,
  type Hop,
  type NodeId,
  type Offer,
  OfferTable,
  type QueueReport,
  type StartResult,
  StatedView,
  type WorkReport,
} from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import { callAttempt } from "./attempt_call.ts";
import { withMachine } from "./machine_availability.ts";
import type { MemberChannel } from "./member_channel.ts";

/** What is known of a peer now; its owner is the poller. */
export interface PeerStanding {
  readonly node: NodeId;
  nodeName(): string;
  availability(): Availability;
  hop(): Hop;
  /** What it last said of its work and when that came (monotonic), or null. */
  work(): { readonly report: WorkReport; readonly atMs: number } | null;
}

/** What the engines of one peer need. */
export interface PeerEnginesOptions {
  /** This node, whose dispatches are counted. */
  readonly self: NodeId;
  readonly standing: PeerStanding;
  readonly channel: MemberChannel;
  readonly clock: Clock;
  /** One measured round trip. */
  onRoundTrip(roundTripMs: number): void;
  /** The link failed under an attempt. */
  onLinkFailure(): void;
}

/** A device's queue as an `accepted` line stated it. */
interface SeenQueue {
  readonly queue: QueueReport;
  readonly dispatchesSeen: number;
  readonly atMs: number;
}

/** What an engine's last status says, prepared for many questions. */
interface Stated {
  readonly report: WorkReport;
  readonly offers: readonly Offer[];
  readonly table: OfferTable;
  /** The device of all its offers, or null where they are on several. */
  readonly onlyDevice: string | null;
}

/** The engines of one peer. One writer of what `accepted` lines say of its queues. */
export class PeerEngines {
  readonly #options: PeerEnginesOptions;
  readonly #engines = new Map<string, PeerEngine>();
  /** What `accepted` lines said, by device: engines share its queue. */
  readonly #accepted = new Map<string, SeenQueue>();
  #listedFrom: WorkReport | null = null;
  #listed: readonly Engine[] = [];

  constructor(options: PeerEnginesOptions) {
    this.#options = options;
  }

  /** One engine for each that the peer's last status names, the same object each time. */
  list(): readonly Engine[] {
    const report = this.#options.standing.work()?.report ?? null;
    if (report === this.#listedFrom) return this.#listed;
    const stated = report?.engines ?? [];
    const ids = new Set(stated.map(({ id }) => id));
    for (const id of this.#engines.keys()) {
      if (!ids.has(id)) this.#engines.delete(id);
    }
    this.#listedFrom = report;
    this.#listed = [...ids].map((id) => {
      const engine = this.#engines.get(id) ??
        new PeerEngine(id, this.#options, this.#accepted);
      this.#engines.set(id, engine);
      return engine;
    });
    return this.#listed;
  }
}

/** A device's queue as another engine on it has it: with its own number of slots. */
function withSlots(
  queue: QueueReport,
  [offer]: readonly Offer[],
): QueueReport {
  const slots = offer?.queue.slots ?? queue.slots;
  return slots === queue.slots ? queue : { ...queue, slots };
}

/** One engine of a peer behind the port that local engines have. */
class PeerEngine implements Engine {
  readonly id: string;
  readonly #options: PeerEnginesOptions;
  /** By device, of all engines of the peer; each holds until a newer status comes. */
  readonly #accepted: Map<string, SeenQueue>;
  #stated: Stated | null = null;

  constructor(
    id: string,
    options: PeerEnginesOptions,
    accepted: Map<string, SeenQueue>,
  ) {
    this.id = id;
    this.#options = options;
    this.#accepted = accepted;
  }

  get node(): NodeId {
    return this.#options.standing.node;
  }

  get nodeName(): string {
    return this.#options.standing.nodeName();
  }

  view(nowMs: number = this.#options.clock.monotonic()): EngineView {
    const { self, standing } = this.#options;
    const hop = standing.hop();
    const work = standing.work();
    if (work === null) {
      const reason = "It has not said yet what it can do";
      return {
        availability: { kind: "unavailable", reason },
        hop,
        offers: [],
        dispatchesSeen: 0,
      };
    }
    const { offers, table, onlyDevice } = this.#statedIn(work.report);
    const newer = this.#newerQueue(onlyDevice, work.atMs);
    const atMs = newer?.atMs ?? work.atMs;
    return new StatedView({
      availability: withMachine(standing.availability(), work.report),
      hop,
      ...(work.report.tier === undefined ? {} : { tier: work.report.tier }),
      list: offers,
      table,
      stateAgeMs: nowMs - work.atMs,
      queue: newer === undefined ? null : withSlots(newer.queue, offers),
      queueAgeMs: nowMs - atMs,
      dispatchesSeen: Math.max(
        work.report.dispatchesSeen[self] ?? 0,
        newer?.dispatchesSeen ?? 0,
      ),
    });
  }

  async start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    const { channel, clock, onLinkFailure, onRoundTrip } = this.#options;
    const work = this.#options.standing.work();
    const device = work === null
      ? undefined
      : this.#statedIn(work.report).table.named(attempt.model)[0]?.device;
    return await callAttempt(
      {
        channel,
        clock,
        nodeName: this.nodeName,
        engine: this.id,
        onAccepted: ({ queue, dispatchesSeen, roundTripMs }) => {
          onRoundTrip(roundTripMs);
          if (device === undefined) return;
          const before = this.#accepted.get(device)?.dispatchesSeen ?? 0;
          this.#accepted.set(device, {
            queue,
            dispatchesSeen: Math.max(dispatchesSeen, before),
            atMs: clock.monotonic(),
          });
        },
        onLinkFailure,
      },
      attempt,
      signal,
    );
  }

  /** The engine's part of a report; a report is a value and is read once. */
  #statedIn(report: WorkReport): Stated {
    if (this.#stated?.report === report) return this.#stated;
    const offers = report.engines.find(({ id }) => id === this.id)?.offers ??
      [];
    const devices = new Set(offers.map(({ device }) => device));
    const [only] = devices;
    return this.#stated = {
      report,
      offers,
      table: new OfferTable(offers),
      onlyDevice: devices.size === 1 ? only ?? null : null,
    };
  }

  /**
   * An `accepted` line's queue that is newer than the status. It is used only
   * where all offers share one device: a view has one number of dispatches
   * seen, which must be true of every queue in it.
   */
  #newerQueue(
    device: string | null,
    statusAtMs: number,
  ): SeenQueue | undefined {
    const seen = device === null ? undefined : this.#accepted.get(device);
    return seen !== undefined && seen.atMs > statusAtMs ? seen : undefined;
  }
}
