import type {
  Availability,
  EngineView,
  Hop,
  Offer,
  OfferIndex,
  QueueReport,
  StatedOffers,
} from "./engine.ts";
import type { Tier } from "./machine.ts";
import { BroughtOffers } from "./offer_index.ts";
import { ageLoadState, ageQueue } from "./queue_aging.ts";

/** What a view of stated offers is made of. */
export interface StatedViewOptions
  extends Pick<EngineView, "availability" | "dispatchesSeen" | "hop" | "tier"> {
  /** The offers as they were stated. */
  readonly list: readonly Offer[];
  /** Over the same list. */
  readonly table: OfferIndex;
  /** Local time since they were stated. */
  readonly stateAgeMs: number;
  /** A queue that was stated later than theirs, or null. */
  readonly queue: QueueReport | null;
  /** Local time since the queue that counts was stated. */
  readonly queueAgeMs: number;
}

/**
 * A view of an engine whose offers were stated some time ago. They are brought
 * up to date when somebody asks for them, and not at all for who reckons with
 * the time that has passed.
 */
export class StatedView implements EngineView, StatedOffers {
  readonly availability: Availability;
  readonly hop: Hop;
  readonly dispatchesSeen: number;
  readonly tier?: Tier;
  readonly list: readonly Offer[];
  readonly table: OfferIndex;
  readonly stateAgeMs: number;
  readonly queue: QueueReport | null;
  readonly queueAgeMs: number;
  #brought: BroughtOffers | null = null;

  /**
   * Take a view.
   *
   * @param options What was stated, and when.
   */
  constructor(options: StatedViewOptions) {
    this.availability = options.availability;
    this.hop = options.hop;
    this.dispatchesSeen = options.dispatchesSeen;
    if (options.tier !== undefined) this.tier = options.tier;
    this.list = options.list;
    this.table = options.table;
    this.stateAgeMs = options.stateAgeMs;
    this.queue = options.queue;
    this.queueAgeMs = options.queueAgeMs;
  }

  get stated(): StatedOffers {
    return this;
  }

  get index(): BroughtOffers {
    return this.#brought ??= new BroughtOffers(
      this.list,
      (offer) => ({
        ...offer,
        state: ageLoadState(offer.state, this.stateAgeMs),
        queue: ageQueue(this.queue ?? offer.queue, this.queueAgeMs),
      }),
      this.table,
    );
  }

  get offers(): readonly Offer[] {
    return this.index.all();
  }

  bring(offer: Offer): Offer {
    return this.index.bring(offer);
  }
}
