import type { NodeId } from "@covey/core/domain";
import { begunCopies } from "./begun_copies.ts";
import { CopyError } from "./copy_error.ts";
import { CopyJob, type JobMeans } from "./copy_job.ts";
import type { CopyAsk, CopyView } from "./copy_view.ts";
import type { Holding } from "./holding.ts";
import { PartStore } from "./part_store.ts";

/** Copies that run at once; more would only share the same link and disk. */
const MOST_RUNNING = 2;
const MOST_WAITING = 64;
/** Copies that are kept for the list once they have ended. */
const MOST_ENDED = 50;

/** What the desk needs. */
export interface DeskOptions extends Omit<JobMeans, "inTurn"> {
  readonly self: { readonly node: NodeId; readonly nodeName: string };
}

interface Entry {
  readonly id: string;
  readonly job: CopyJob;
  readonly life: AbortController;
}

/** The copies that this node receives. One writer of the folder where they arrive. */
export class CopyDesk implements AsyncDisposable {
  readonly #options: DeskOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #begun = new WeakSet<CopyJob>();
  readonly #running = new Set<Promise<void>>();
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** Go on with what an earlier start of this node began. */
  async resume(): Promise<void> {
    const { files, log, shelf } = this.#options;
    for (const root of await begunCopies(files, shelf.folder)) {
      const manifest = await PartStore.manifestOf(files, shelf.folder, root);
      if (manifest === null) {
        await PartStore.remove(files, shelf.folder, root);
        continue;
      }
      const { model } = manifest;
      log.info("A copy goes on where it was left", { model });
      this.start({ root, model, bytesPerSecond: null });
    }
  }

  /**
   * Begin a copy; the same one where it is under way already.
   *
   * @throws {CopyError} When too many wait.
   */
  start(ask: CopyAsk): CopyView {
    const same = [...this.#entries.values()].find(({ job }) =>
      job.ask.root === ask.root && !job.hasEnded
    );
    if (same !== undefined) return this.#view(same);
    const waiting = [...this.#entries.values()].filter(({ job }) =>
      job.state === "queued"
    );
    if (waiting.length >= MOST_WAITING) {
      throw new CopyError(
        `${MOST_WAITING} copies wait on this node already; try again later`,
      );
    }
    const { entropy } = this.#options;
    const entry: Entry = {
      id: entropy.uuid(),
      life: new AbortController(),
      job: new CopyJob(ask, {
        ...this.#options,
        inTurn: (act) => this.#inTurn(act),
      }),
    };
    this.#entries.set(entry.id, entry);
    this.#forgetOld();
    this.#next();
    return this.#view(entry);
  }

  /** All that are known, in the order in which they were asked for. */
  list(): readonly CopyView[] {
    return [...this.#entries.values()].map((entry) => this.#view(entry));
  }

  /**
   * End a copy and forget what came of it.
   *
   * @returns Undefined where there is none of that id.
   */
  cancel(id: string): CopyView | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    if (!entry.job.hasEnded) {
      entry.job.cancelQueued();
      entry.life.abort(new CopyError("The copy was cancelled"));
    }
    return {
      ...this.#view(entry),
      state: entry.job.hasEnded ? entry.job.state : "cancelled",
    };
  }

  /** What of a root has come here. */
  holding(root: string): Holding | null {
    for (const { job } of this.#entries.values()) {
      const holding = job.ask.root === root ? job.holding() : null;
      if (holding !== null) return holding;
    }
    return null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const { life } of this.#entries.values()) {
      life.abort(new DOMException("The node is stopping", "AbortError"));
    }
    await Promise.all(this.#running);
  }

  #next(): void {
    if (this.#isClosed || this.#running.size >= MOST_RUNNING) return;
    const entry = [...this.#entries.values()].find(({ job, life }) =>
      job.state === "queued" && !life.signal.aborted && !this.#begun.has(job)
    );
    if (entry === undefined) return;
    this.#begun.add(entry.job);
    const running = entry.job.run(entry.life.signal).finally(() => {
      this.#running.delete(running);
      this.#next();
    });
    this.#running.add(running);
    this.#next();
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(act);
    // Its own caller hears of a failure.
    this.#turn = turn.catch(() => {});
    return turn;
  }

  #forgetOld(): void {
    const ended = [...this.#entries.values()].filter(({ job }) => job.hasEnded);
    for (const { id } of ended.slice(0, -MOST_ENDED)) this.#entries.delete(id);
  }

  #view({ id, job }: Entry): CopyView {
    const { node, nodeName } = this.#options.self;
    return { id, node, nodeName, ...job.view() };
  }
}
