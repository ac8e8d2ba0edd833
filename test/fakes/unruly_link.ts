import {
  ageQueue,
  type Attempt,
  type Availability,
  type Engine,
  type EngineAnswer,
  type EngineView,
  Fault,
  type NodeId,
  type PieceSource,
  SourcedAnswer,
  sourceOf,
  type StartResult,
} from "../../src/domain/mod.ts";
import type { Clock } from "../../src/platform/mod.ts";
import type { OwnedRouter } from "../../src/router/mod.ts";

const HOP_MS = 1;
const CONNECT_MS = 1000;
const SILENCE_MS = 4000;

/** What is open over a link. */
interface Call {
  /** The peer sees that the entry has left. */
  readonly gone: AbortController;
  /** Rejects when the entry sees that the link broke. */
  readonly broken: PromiseWithResolvers<never>;
}

/**
 * A peer's engine over a link that takes time, shows the peer as it was at the
 * last poll or `accepted`, and can be cut: the peer notices at once, the entry
 * after a while.
 */
export class UnrulyLink implements Engine {
  readonly node: NodeId;
  readonly nodeName: string;
  readonly id = "fake";
  /** Whether it shows none of the entry's own dispatches as seen. */
  isBlind = false;
  readonly #clock: Clock;
  readonly #entry: NodeId;
  readonly #peer: OwnedRouter;
  readonly #open = new Set<Call>();
  #isCut = false;
  #availability: Availability = { kind: "available" };
  #view: EngineView;
  #atMs = 0;

  /**
   * @param clock Time.
   * @param entry Who calls.
   * @param node Whom it calls.
   * @param peer That node's router.
   */
  constructor(clock: Clock, entry: NodeId, node: NodeId, peer: OwnedRouter) {
    this.#clock = clock;
    this.#entry = entry;
    this.#peer = peer;
    this.node = node;
    this.nodeName = `node-${node.at(-1)}`;
    this.#view = this.#report();
  }

  /** Break it, or mend it. */
  cut(isCut: boolean): void {
    this.#isCut = isCut;
    if (!isCut) return;
    for (const call of this.#open) {
      call.gone.abort(new Error("The entry node left"));
      this.#clock.after(SILENCE_MS, () => call.broken.reject(failed()));
    }
    this.#open.clear();
  }

  /** Take the peer's report as it is now. */
  poll(): void {
    if (this.#isCut) {
      this.#availability = { kind: "unavailable", reason: "It is off line" };
      return;
    }
    this.#availability = { kind: "available" };
    this.#atMs = this.#clock.monotonic();
    this.#view = this.#report();
  }

  view(): EngineView {
    const elapsedMs = this.#clock.monotonic() - this.#atMs;
    return {
      ...this.#view,
      ...(this.#availability.kind === "available"
        ? {}
        : { availability: this.#availability }),
      ...(this.isBlind ? { dispatchesSeen: 0 } : {}),
      offers: this.#view.offers.map((offer) => ({
        ...offer,
        queue: ageQueue(offer.queue, elapsedMs),
      })),
    };
  }

  async start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    signal.throwIfAborted();
    if (this.#isCut) {
      await this.#clock.sleep(CONNECT_MS, signal);
      throw failed();
    }
    const call: Call = {
      gone: new AbortController(),
      broken: Promise.withResolvers<never>(),
    };
    call.broken.promise.catch(() => {});
    this.#open.add(call);
    const leave = () => {
      this.#open.delete(call);
      call.gone.abort(signal.reason);
      call.broken.reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    const over = () => {
      signal.removeEventListener("abort", leave);
      this.#open.delete(call);
    };
    const hop = () => this.#overLink(call, this.#clock.sleep(HOP_MS));
    await hop();
    const started = await this.#overLink(
      call,
      this.#peer.serve(this.id, attempt, call.gone.signal),
    );
    await hop();
    if (started.kind === "refused") {
      over();
      return started;
    }
    this.#accepted(attempt, started);
    return {
      ...started,
      answer: async () => {
        try {
          const answer = await this.#overLink(call, started.answer());
          return this.#carried(call, answer, over);
        } catch (thrown) {
          over();
          throw thrown;
        }
      },
      withdraw: async () => {
        await this.#clock.sleep(HOP_MS);
        return !this.#isCut && (await started.withdraw?.() ?? false);
      },
    };
  }

  #overLink<Result>(call: Call, work: Promise<Result>): Promise<Result> {
    work.catch(() => {});
    return Promise.race([work, call.broken.promise]);
  }

  #carried(call: Call, answer: EngineAnswer, over: () => void): EngineAnswer {
    const source = answer.source ?? sourceOf(answer.body);
    const body: PieceSource = {
      read: async () => {
        try {
          const piece = await this.#overLink(call, source.read());
          if (piece === undefined) over();
          return piece;
        } catch (thrown) {
          over();
          throw thrown;
        }
      },
      cancel: (reason) => {
        over();
        call.gone.abort(reason);
        return source.cancel(reason);
      },
    };
    return new SourcedAnswer(answer, body);
  }

  #accepted(
    attempt: Attempt,
    { queue }: Extract<StartResult, { readonly kind: "accepted" }>,
  ): void {
    this.#atMs = this.#clock.monotonic();
    this.#view = {
      ...this.#view,
      offers: this.#view.offers.map((offer) => ({ ...offer, queue })),
      dispatchesSeen: attempt.dispatch,
    };
  }

  #report(): EngineView {
    const { draining, dispatchesSeen, engines } = this.#peer.report();
    return {
      availability: draining === true
        ? { kind: "unavailable", reason: "It is draining" }
        : { kind: "available" },
      hop: { medianMs: HOP_MS, jitterMs: 0 },
      offers: engines[0]?.offers ?? [],
      dispatchesSeen: dispatchesSeen[this.#entry] ?? 0,
    };
  }
}

function failed(): Fault {
  return new Fault("link_failed", "The link failed");
}
