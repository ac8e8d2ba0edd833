import type { NodeId } from "@covey/core/domain";
import { begunCopies, isForgotten } from "./begun_copies.ts";
import { CopyError, CopyPaused } from "./copy_error.ts";
import { CopyJob, type JobMeans } from "./copy_job.ts";
import type { CopyAsk, CopyView } from "./copy_view.ts";
import type { Holding } from "./holding.ts";
import { removeParts } from "./copy_along.ts";
import { type KeptAsk, readKeptAsk } from "./kept_ask.ts";
import { PartStore } from "./part_store.ts";

/** Copies that run at once; more would only share the same link and disk. */
const MOST_RUNNING = 2;
const MOST_WAITING = 64;
/** How often what nobody went on with is looked for. */
const COLLECT_EVERY_MS = 24 * 3_600_000;
/** Copies that are kept for the list once they have ended. */
const MOST_ENDED = 50;

/** What the desk needs. */
export interface DeskOptions extends Omit<JobMeans, "inTurn"> {
  readonly self: { readonly node: NodeId; readonly nodeName: string };
}

interface Entry {
  readonly id: string;
  /** Another one after a pause. */
  job: CopyJob;
  life: AbortController;
  /** Ends with what is done for it now. */
  work: Promise<void>;
  /** Whether anything is done for it now: what it cancelled may still be on its way out. */
  isWorking: boolean;
}

/** The copies that this node receives. One writer of the folder where they arrive. */
export class CopyDesk implements AsyncDisposable {
  readonly #options: DeskOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #begun = new WeakSet<CopyJob>();
  readonly #running = new Set<Promise<void>>();
  #turn: Promise<unknown> = Promise.resolve();
  readonly #collectTimer: Disposable;
  #collecting: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: DeskOptions) {
    this.#options = options;
    // A node may run for months.
    this.#collectTimer = options.clock.every(COLLECT_EVERY_MS, () => {
      this.#collecting = this.#collecting.then(() => this.#collect());
    });
  }

  /** Go on with what an earlier start of this node began. */
  async resume(): Promise<void> {
    const { clock, files, log, shelf } = this.#options;
    const begun = await begunCopies(files, shelf.folder);
    for (const root of begun) {
      const kept = await readKeptAsk(files, shelf.folder, root);
      if (kept?.of !== undefined) {
        // What goes with a model goes on with it.
        if (!begun.includes(kept.of)) await this.#resumeAlong(root, kept);
        continue;
      }
      if (kept?.paused === true) {
        const { paused: _paused, ...ask } = kept;
        await this.#add({ root, ...ask }).job.pause();
        continue;
      }
      if (await isForgotten(files, shelf.folder, root, clock.now())) {
        await this.#forget(root, kept?.model ?? root);
        continue;
      }
      const manifest = await PartStore.manifestOf(files, shelf.folder, root);
      if (manifest === null) {
        await PartStore.remove(files, shelf.folder, root);
        continue;
      }
      const { model } = manifest;
      log.info("A copy goes on where it was left", { model });
      const { bytesPerSecond = null, companions } = kept ?? {};
      this.start({
        root,
        model: kept?.model ?? model,
        bytesPerSecond,
        ...companions === undefined ? {} : { companions },
      });
    }
  }

  /** Of a model that was published already, or was to be. */
  async #resumeAlong(
    companions: string,
    { bytesPerSecond, model, of: root = "", paused }: KeptAsk,
  ): Promise<void> {
    const { clock, files, shelf } = this.#options;
    const ask = { root, model, bytesPerSecond, companions, isHere: true };
    if (paused) return await this.#add(ask).job.pause();
    if (await isForgotten(files, shelf.folder, companions, clock.now())) {
      return await this.#forget(companions, model);
    }
    this.start(ask);
  }

  /**
   * Begin a copy; the same one where it is under way or paused already, and not cancelled.
   *
   * @throws {CopyError} When too many wait.
   */
  start(ask: CopyAsk): CopyView {
    const same = [...this.#entries.values()].find(({ job, life }) =>
      job.ask.root === ask.root && !job.hasEnded &&
      !(life.signal.reason instanceof CopyError)
    );
    if (same !== undefined) return this.resumeOne(same.id) ?? this.#view(same);
    const waiting = [...this.#entries.values()].filter(({ job }) =>
      job.state === "queued"
    );
    if (waiting.length >= MOST_WAITING) {
      throw new CopyError(
        `${MOST_WAITING} copies wait on this node already; try again later`,
      );
    }
    const entry = this.#add(ask);
    this.#next();
    return this.#view(entry);
  }

  /** One of them, or undefined where there is none of that id. */
  find(id: string): CopyView | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined ? undefined : this.#view(entry);
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
      if (entry.job.cancelQueued()) {
        this.#work(entry, removeParts(this.#options, entry.job.ask));
      }
      entry.life.abort(new CopyError("The copy was cancelled"));
    }
    return {
      ...this.#view(entry),
      state: entry.job.hasEnded ? entry.job.state : "cancelled",
    };
  }

  /**
   * Stop a copy until it is resumed, also over restarts; what came stays.
   *
   * @returns Undefined where there is none of that id.
   */
  async pause(id: string): Promise<CopyView | undefined> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    const { job, life } = entry;
    if (job.hasEnded || job.state === "paused") return this.#view(entry);
    if (this.#begun.has(job)) life.abort(new CopyPaused());
    else this.#work(entry, job.pause());
    await entry.work;
    return this.#view(entry);
  }

  /**
   * Go on with a copy that was paused.
   *
   * @returns Undefined where there is none of that id.
   */
  resumeOne(id: string): CopyView | undefined {
    const entry = this.#entries.get(id);
    if (entry?.job.state !== "paused") return this.find(id);
    entry.life = new AbortController();
    entry.job = this.#jobFor(entry.job.ask);
    this.#next();
    return this.#view(entry);
  }

  /** What of a root has come here. */
  holding(root: string): Holding | null {
    for (const { job } of this.#entries.values()) {
      const isOf = job.ask.root === root || job.ask.companions === root;
      const holding = isOf ? job.holding(root) : null;
      if (holding !== null) return holding;
    }
    return null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#collectTimer[Symbol.dispose]();
    for (const { life } of this.#entries.values()) {
      life.abort(new DOMException("The node is stopping", "AbortError"));
    }
    await Promise.all(this.#running);
    await this.#collecting;
  }

  /** Copies that failed, and that nobody asked for again. */
  async #collect(): Promise<void> {
    const { clock, files, log, shelf } = this.#options;
    try {
      for (const root of await begunCopies(files, shelf.folder)) {
        const isOld = await isForgotten(files, shelf.folder, root, clock.now());
        const kept = await readKeptAsk(files, shelf.folder, root);
        // Nothing is awaited from here to the removal's begin.
        const isWanted = [...this.#entries.values()].some(({ job }) =>
          (job.ask.root === root || job.ask.companions === root) &&
          !job.hasEnded
        );
        if (!isOld || isWanted || this.#isClosed) continue;
        await this.#forget(root, kept?.model ?? root);
      }
    } catch (error) {
      // The next day tries again.
      log.warn("Failed to remove what came of copies", {
        reason: error instanceof Error ? error.message : "It failed",
      });
    }
  }

  async #forget(root: string, model: string): Promise<void> {
    const { files, log, shelf } = this.#options;
    await PartStore.remove(files, shelf.folder, root);
    log.info(
      "Removed what came of a copy that nobody went on with for a week",
      { model },
    );
  }

  #add(ask: CopyAsk): Entry {
    const entry: Entry = {
      id: this.#options.entropy.uuid(),
      life: new AbortController(),
      job: this.#jobFor(ask),
      work: Promise.resolve(),
      isWorking: false,
    };
    this.#entries.set(entry.id, entry);
    this.#forgetOld();
    return entry;
  }

  #jobFor(ask: CopyAsk): CopyJob {
    return new CopyJob(ask, {
      ...this.#options,
      inTurn: (act) => this.#inTurn(act),
    });
  }

  /** Do something for a copy; the end of the desk waits for it, and others may have the place then. */
  #work(entry: Entry, work: Promise<void>): void {
    const running = work.finally(() => {
      this.#running.delete(running);
      if (entry.work === running) entry.isWorking = false;
      this.#next();
    });
    entry.work = running;
    entry.isWorking = true;
    this.#running.add(running);
  }

  #next(): void {
    if (this.#isClosed || this.#running.size >= MOST_RUNNING) return;
    const entries = [...this.#entries.values()];
    const working = entries.filter(({ isWorking }) => isWorking);
    // Each folder of parts has one writer: two models may have one vision part.
    const entry = entries.find(({ job, life }) =>
      job.state === "queued" && !life.signal.aborted &&
      !this.#begun.has(job) &&
      !working.some((other) => sharesParts(job.ask, other.job.ask))
    );
    if (entry === undefined) return;
    this.#begun.add(entry.job);
    this.#work(entry, entry.job.run(entry.life.signal));
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

/** Whether two copies write to one place. */
function sharesParts(a: CopyAsk, b: CopyAsk): boolean {
  const roots = new Set([a.root, a.companions]);
  return roots.has(b.root) ||
    (b.companions !== undefined && roots.has(b.companions));
}
