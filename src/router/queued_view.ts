import type {
  Availability,
  BroughtOffers,
  EngineView,
  Hop,
  Offer,
  Tier,
} from "../domain/mod.ts";

/** A queued engine as it is now; its offers are made when somebody asks for them. */
export class QueuedView implements EngineView {
  readonly availability: Availability;
  readonly hop: Hop;
  readonly index: BroughtOffers;
  readonly dispatchesSeen: number = Infinity;
  readonly tier?: Tier;

  /**
   * @param availability Whether it may be asked.
   * @param hop The way to it.
   * @param index Its offers.
   * @param tier Of its machine, or null where nobody knows it.
   */
  constructor(
    availability: Availability,
    hop: Hop,
    index: BroughtOffers,
    tier: Tier | null,
  ) {
    this.availability = availability;
    this.hop = hop;
    this.index = index;
    if (tier !== null) this.tier = tier;
  }

  /** @inheritdoc */
  get offers(): readonly Offer[] {
    return this.index.all();
  }
}
