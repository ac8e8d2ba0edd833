import { ageQueue, type Attempt, type QueueReport } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import type { Accepted } from "./attempt.ts";
import type { FreeSlotBell } from "./free_slot_bell.ts";
import { moveTarget, waitBehind } from "./move_rule.ts";
import type { Placement } from "./place.ts";
import type { RouterMetrics } from "./router_metrics.ts";
import { QueueWatch, type WaitWatch } from "./wait_watch.ts";

/** What a request's moves need. */
export interface RequestMovesOptions {
  readonly clock: Clock;
  readonly bell: FreeSlotBell;
  readonly metrics: RouterMetrics;
  /**
   * Weigh the engines anew.
   *
   * @param current Key of the engine the request waits for.
   */
  weigh(current: string): Placement;
}

/** An attempt that its engine took. */
export interface WaitingAttempt {
  /** Key of its engine. */
  readonly key: string;
  readonly attempt: Attempt;
  readonly accepted: Accepted;
}

/** A request that moved so often stays where it is. */
const MOST_MOVES = 8;

/** Takes one request's attempt back while it waits, when another engine is free sooner. */
export class RequestMoves implements Disposable {
  readonly #options: RequestMovesOptions;
  #moves = 0;
  /** Key of the engine that is claimed for the next attempt, or null. */
  #claim: string | null = null;

  /** @param options What it needs. */
  constructor(options: RequestMovesOptions) {
    this.#options = options;
  }

  /** The engine the next attempt should go to, or null; its claim ends here. */
  takeTarget(): string | null {
    const target = this.#claim;
    this[Symbol.dispose]();
    return target;
  }

  /**
   * Watch over an attempt. Nothing is watched that starts at once, or that its
   * engine cannot give back.
   *
   * @param waiting The attempt.
   * @param leave Called when it was taken back.
   */
  watch(waiting: WaitingAttempt, leave: () => void): WaitWatch | null {
    const { withdraw, queue } = waiting.accepted;
    if (withdraw === undefined || queue.waitingMs.length === 0) return null;
    if (this.#moves >= MOST_MOVES) return null;
    const { bell, clock, metrics } = this.#options;
    const place = {
      ...waiting,
      acceptedAtMs: clock.monotonic(),
      ahead: queue.waitingMs.length - 1,
    };
    return new QueueWatch({
      clock,
      bell,
      look: () => this.#soonerElsewhere(place),
      withdraw,
      moved: (to) => {
        this.#moves++;
        this.#claim = to;
        metrics.withdrawal("moved");
        leave();
      },
      stayed: () => metrics.withdrawal("started"),
    });
  }

  [Symbol.dispose](): void {
    if (this.#claim !== null) this.#options.bell.release(this.#claim);
    this.#claim = null;
  }

  /** The engine that would finish a waiting attempt sooner by enough, or null. */
  #soonerElsewhere(waiting: Waiting): string | null {
    const { key, accepted } = waiting;
    const placement = this.#options.weigh(key);
    if (placement.kind === "nowhere") return null;
    const here = placement.find(key);
    if (here === undefined) return null;
    const { view } = here.engine;
    const queue: QueueReport = view.dispatchesSeen >= waiting.attempt.dispatch
      ? here.offer.queue
      : ageQueue(
        accepted.queue,
        this.#options.clock.monotonic() - waiting.acceptedAtMs,
      );
    // Those behind it may have grown, those before it only start.
    waiting.ahead = Math.min(
      waiting.ahead,
      Math.max(0, queue.waitingMs.length - 1),
    );
    const { estimateMs, factor, terms } = here.estimate;
    const serviceMs = estimateMs - terms.queueMs * factor;
    const target = moveTarget(placement.atOnce(), {
      key,
      leftMs: serviceMs + waitBehind(queue, waiting.ahead) * factor,
      hopMs: view.hop.medianMs,
    });
    return target?.engine.key ?? null;
  }
}

interface Waiting extends WaitingAttempt {
  readonly acceptedAtMs: number;
  /** How many that wait are to start before it, as far as is known. */
  ahead: number;
}
