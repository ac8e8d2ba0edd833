import {
  BroughtOffers,
  type Engine,
  type EngineView,
  type Offer,
  type OfferIndex,
  OfferScan,
  OfferTable,
  type QueueReport,
} from "../domain/mod.ts";
import type { DeviceQueue } from "./device_queue.ts";
import type { DeviceQueues } from "./device_queues.ts";
import type { EngineExperience } from "./engine_experience.ts";
import type { LoadOutlook } from "./load_outlook.ts";

/** An engine's offers with the queue in front of it and what its answers taught. Holds nothing but an index. */
export class QueuedOffers {
  readonly #raw: Engine;
  readonly #queues: DeviceQueues;
  readonly #experience: EngineExperience;
  /** The list that came last. */
  #indexed: {
    readonly offers: readonly Offer[];
    table: OfferTable | null;
  } | null = null;

  /**
   * @param raw The engine itself.
   * @param queues Those of this node's devices.
   * @param experience What its answers taught.
   */
  constructor(raw: Engine, queues: DeviceQueues, experience: EngineExperience) {
    this.#raw = raw;
    this.#queues = queues;
    this.#experience = experience;
  }

  /** All offers of a view of the engine, each made when asked for. */
  index(view: EngineView): BroughtOffers {
    const reports = new Map<string, QueueReport>();
    return new BroughtOffers(
      view.offers,
      (offer) => this.#dressed(offer, reports),
      view.index ?? this.#indexOf(view.offers),
    );
  }

  /** The offer of a model as one who has its turn finds it, without the queue, or undefined. */
  served(model: string): Offer | undefined {
    const raw = this.raw(model);
    return raw === undefined
      ? undefined
      : { ...raw, rates: this.#experience.ratesNow(raw) };
  }

  /** The engine's own offer of a model, or undefined. */
  raw(model: string): Offer | undefined {
    return this.#raw.view().offers.find((offer) => offer.model === model);
  }

  /** What a load of a model takes and pushes out, if it is not loaded. */
  outlook(model: string): LoadOutlook | null {
    const raw = this.raw(model);
    if (raw === undefined) return null;
    return {
      isLoaded: raw.state.kind === "warm" || raw.state.kind === "loading",
      loadTimeMs: this.#experience.ratesNow(raw).loadTimeMs,
      evicts: (raw.evicts ?? []).map((one) => `${this.#raw.id} ${one.model}`),
    };
  }

  /** What the load took that has just been waited for, if the engine says so. */
  loadTime(model: string): number | null {
    const state = this.raw(model)?.state;
    return state?.kind === "warm" ? state.loadTimeMs : null;
  }

  /** The queue of an offer's device. */
  queueOf({ device }: Offer): DeviceQueue {
    return this.#queues.of(device);
  }

  /** Name of an offer's model over all engines of this node. */
  key({ model }: Offer): string {
    return `${this.#raw.id} ${model}`;
  }

  /** A list that comes a second time is worth a table. */
  #indexOf(offers: readonly Offer[]): OfferIndex {
    if (this.#indexed?.offers === offers) {
      return this.#indexed.table ??= new OfferTable(offers);
    }
    this.#indexed = { offers, table: null };
    return new OfferScan(offers);
  }

  /** The engine's own offer with our queue and what was learned. */
  #dressed(offer: Offer, reports: Map<string, QueueReport>): Offer {
    const { slots } = offer.queue;
    const key = `${slots} ${offer.device}`;
    let queue = reports.get(key);
    if (queue === undefined) {
      queue = this.queueOf(offer).report(slots);
      reports.set(key, queue);
    }
    const after = queue.waitingMs.length === 0
      ? undefined
      : this.queueOf(offer).play().loadedAfter.get(this.key(offer));
    const dressed: Offer = {
      ...offer,
      queue,
      rates: this.#experience.ratesNow(offer),
      ...(after === undefined ? {} : { loadedAfterQueue: after }),
    };
    return offer.evicts === undefined || offer.evicts.length === 0 ? dressed : {
      ...dressed,
      evicts: offer.evicts.map((one) => this.#experience.counted(one)),
    };
  }
}
