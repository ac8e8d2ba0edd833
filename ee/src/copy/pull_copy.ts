import {
  type AllyProgress,
  Fault,
  PullPaused,
  type PullTurn,
  type PullWant,
} from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { CopyDesk } from "./copy_desk.ts";
import type { CopyAsk } from "./copy_view.ts";

/** How often a copy is looked at for the one who pulls. */
const FOLLOW_EVERY_MS = 250;
/** A copy to which no member gives anything for so long is given up for the source. */
const GIVE_UP_MS = 30_000;

/** What copies for pulls need. */
export interface PullCopiesOptions {
  readonly desk: Pick<CopyDesk, "start" | "find" | "cancel" | "pause">;
  readonly clock: Clock;
  /** Aborts when the node stops. */
  readonly life: AbortSignal;
}

/** Copies that pulls wait for, each one like any other. */
export class PullCopies {
  readonly #options: PullCopiesOptions;
  /** Copies that pulls paused in this process, by pull. After a restart they are paused copies like any other. */
  readonly #paused = new Map<string, string>();

  /** @param options What they need. */
  constructor(options: PullCopiesOptions) {
    this.#options = options;
  }

  /** Drop what members gave to a pull that was paused, and then cancelled. */
  forget(pull: string): void {
    const id = this.#paused.get(pull);
    this.#paused.delete(pull);
    if (id !== undefined && this.#options.desk.find(id)?.state === "paused") {
      this.#options.desk.cancel(id);
    }
  }

  /**
   * Copy a model that members have.
   *
   * @returns Null where it could not be copied.
   * @throws {Fault} When an operator cancelled the copy.
   */
  async copy(
    { pull, totalBytes }: Pick<PullWant, "pull" | "totalBytes">,
    ask: CopyAsk,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn & { readonly kind: "copied" } | null> {
    const { clock, desk } = this.#options;
    const { id } = desk.start(ask);
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
}
