import {
  type AllyProgress,
  Fault,
  type PullAllies,
  type PullCopyWant,
  type PullLease,
  type PullOffer,
  type PullTurn,
  type PullWant,
} from "@covey/core/domain";
import { orAborted } from "@covey/core/platform";

/** Where members of one cluster hear of what this node fetches. */
export interface PullNotices {
  /**
   * Let members know from now on what this node fetches already.
   *
   * @param want What it fetches.
   * @returns Held until that is over; null where they know of the same by another pull.
   */
  attend(want: PullWant): PullLease | null;
}

/** What standing pulls need. */
export interface StandingPullsOptions {
  /** Resolves once it is known whether there is a cluster at all. */
  readonly coming: Promise<void>;
  /** Members of the cluster that this node is in now; null for none. */
  allies(): PullAllies | null;
}

/**
 * Pulls over the coming and going of clusters: one that was begun while this
 * node was in none goes on, and is known to the members of the one that it comes
 * into; one that waited for members goes on without them once it has left.
 */
export class StandingPulls implements PullAllies, Disposable {
  readonly #options: StandingPullsOptions;
  readonly #fetches = new Set<StandingFetch>();
  #notices: PullNotices | null = null;
  #isClosed = false;

  /** @param options What they need. */
  constructor(options: StandingPullsOptions) {
    this.#options = options;
  }

  /** Let the members of another cluster hear of what is fetched, before they ask. */
  showOn(notices: PullNotices): void {
    this.#notices = notices;
    for (const fetch of this.#fetches) fetch.showOn(notices);
  }

  async turn(
    want: PullWant,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn> {
    const turn = await this.#ask(
      signal,
      (allies) => allies.turn(want, tell, signal),
    );
    if (turn !== null && turn.kind !== "fetch") return turn;
    const fetch = new StandingFetch(want, turn?.lease ?? null, (ended) => {
      this.#fetches.delete(ended);
    });
    this.#fetches.add(fetch);
    if (turn === null && this.#notices !== null) fetch.showOn(this.#notices);
    return { kind: "fetch", lease: fetch };
  }

  async offers(
    source: string,
    signal: AbortSignal,
  ): Promise<readonly PullOffer[]> {
    const offers = await this.#ask(
      signal,
      (allies) => allies.offers?.(source, signal) ?? Promise.resolve([]),
    );
    return offers ?? [];
  }

  async copy(
    want: PullCopyWant,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn & { readonly kind: "copied" } | null> {
    return await this.#ask(
      signal,
      (allies) => allies.copy?.(want, tell, signal) ?? Promise.resolve(null),
    );
  }

  forget(pull: string): void {
    this.#options.allies()?.forget?.(pull);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
  }

  /** Ask the members that there are; those of the next cluster where this one ends meanwhile. Null where there is none. */
  async #ask<Result>(
    signal: AbortSignal,
    act: (allies: PullAllies) => Promise<Result>,
  ): Promise<Result | null> {
    await orAborted(this.#options.coming, signal);
    for (;;) {
      const allies = this.#options.allies();
      if (allies === null) return null;
      try {
        return await act(allies);
      } catch (error) {
        signal.throwIfAborted();
        const isLeft = !this.#isClosed && this.#options.allies() !== allies;
        // What an operator cancelled stays cancelled.
        const isMeant = error instanceof Fault && error.code === "conflict";
        if (!isLeft || isMeant) throw error;
      }
    }
  }
}

/** What this node fetches from its source, and to whom that is known. */
class StandingFetch implements PullLease {
  readonly #want: PullWant;
  readonly #onEnd: (ended: StandingFetch) => void;
  #known: PullLease | null;
  #told: readonly [doneBytes: number, totalBytes: number | null] | null = null;

  constructor(
    want: PullWant,
    known: PullLease | null,
    onEnd: (ended: StandingFetch) => void,
  ) {
    this.#want = want;
    this.#known = known;
    this.#onEnd = onEnd;
  }

  showOn(notices: PullNotices): void {
    this.#known?.[Symbol.dispose]();
    this.#known = notices.attend(this.#want);
    if (this.#told !== null) this.#known?.tell(...this.#told);
  }

  tell(doneBytes: number, totalBytes: number | null): void {
    this.#told = [doneBytes, totalBytes];
    this.#known?.tell(doneBytes, totalBytes);
  }

  [Symbol.dispose](): void {
    this.#known?.[Symbol.dispose]();
    this.#onEnd(this);
  }
}
