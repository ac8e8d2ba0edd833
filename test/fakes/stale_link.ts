import type {
  Attempt,
  Engine,
  EngineView,
  NodeId,
  StartResult,
} from "../../src/domain/mod.ts";
import { ageQueue } from "../../src/domain/mod.ts";
import type { Clock } from "../../src/platform/mod.ts";
import type { OwnedRouter } from "../../src/router/mod.ts";

/** What a test says of a link. */
export interface StaleLinkOptions {
  readonly clock: Clock;
  /** Who calls. */
  readonly entry: NodeId;
  /** Whom it calls, with its router. */
  readonly node: NodeId;
  readonly peer: OwnedRouter;
  readonly hopMs?: number;
}

/** A peer's engine as the link shows it: its report as of the last poll or `accepted`, and its `serve`. */
export class StaleLink implements Engine {
  readonly node: NodeId;
  readonly nodeName: string;
  readonly id = "fake";
  readonly served: Attempt[] = [];
  /** Taken back from the peer, as it said. */
  withdrawn = 0;
  readonly #options: StaleLinkOptions;
  #view: EngineView;
  #atMs = 0;

  constructor(options: StaleLinkOptions) {
    this.#options = options;
    this.node = options.node;
    this.nodeName = `node-${options.node.at(-1)}`;
    this.#view = this.#report();
  }

  /** Take the peer's report as it is now. */
  poll(): void {
    this.#atMs = this.#options.clock.monotonic();
    this.#view = this.#report();
  }

  view(): EngineView {
    const elapsedMs = this.#options.clock.monotonic() - this.#atMs;
    return {
      ...this.#view,
      offers: this.#view.offers.map((offer) => ({
        ...offer,
        queue: ageQueue(offer.queue, elapsedMs),
      })),
    };
  }

  async start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    this.served.push(attempt);
    const started = await this.#options.peer.serve("fake", attempt, signal);
    if (started.kind !== "accepted") return started;
    this.#atMs = this.#options.clock.monotonic();
    this.#view = {
      ...this.#view,
      offers: this.#view.offers.map((offer) => ({
        ...offer,
        queue: started.queue,
      })),
      dispatchesSeen: attempt.dispatch,
    };
    return {
      ...started,
      withdraw: async () => {
        const isOut = await started.withdraw?.() ?? false;
        if (isOut) this.withdrawn++;
        return isOut;
      },
    };
  }

  #report(): EngineView {
    const { engines, dispatchesSeen } = this.#options.peer.report();
    return {
      availability: { kind: "available" },
      hop: { medianMs: this.#options.hopMs ?? 1, jitterMs: 0 },
      offers: engines[0]?.offers ?? [],
      dispatchesSeen: dispatchesSeen[this.#options.entry] ?? 0,
    };
  }
}
