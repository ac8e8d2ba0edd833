import {
  Fault,
  type ModelPulls,
  type PullOutcome,
  PullPaused,
  type PullRequest,
  type PullView,
} from "../../domain/mod.ts";
import { FileError, orAborted } from "../../platform/mod.ts";
import { storageFault } from "../storage_fault.ts";
import { Pace } from "./pace.ts";
import {
  collectPartials,
  PARTIAL_FOLDER,
  removeIfEmpty,
} from "./partial_folder.ts";
import { type PullPorts, runPull } from "./pull_job.ts";
import { readPullList, writePullList } from "./pull_list.ts";
import {
  parsePullSource,
  type PullSource,
  showPullSource,
} from "./pull_source.ts";
import { watcherOf } from "./pull_watch.ts";

const MOST_PULLS = 8;
/** How often partial files that nobody wants are looked for. */
const COLLECT_EVERY_MS = 24 * 3_600_000;
/** Pulls that are known at all, paused ones with them. */
const MOST_KNOWN = 64;

/** What pulls need. */
export interface PullsOptions extends Omit<PullPorts, "pace"> {
  /** File that pulls are kept in which did not end. */
  readonly listPath: string;
  /**
   * Say of a failed file operation which folder is to blame.
   *
   * @returns Its message, for the log.
   */
  explain?(error: FileError): Promise<string>;
}

/** Pulls, and their end. */
export interface OwnedPulls extends ModelPulls, AsyncDisposable {
  /** Go on with the pulls that ran when the node ended, and remove what nobody wants any more. */
  resume(): Promise<void>;
}

/**
 * Make the one place where models are pulled.
 *
 * @param options What they need.
 */
export function createPulls(options: PullsOptions): OwnedPulls {
  return new RunningPulls(options);
}

/** What is asked for, with the id of all who ask for the same. */
interface Identified {
  readonly id: string;
  readonly request: PullRequest;
  readonly source: PullSource;
}

interface Job extends Identified {
  readonly watchers: Set<(view: PullView) => void>;
  view: PullView;
  /** Null while it is paused. */
  run: Run | null;
  isPaused: boolean;
  /** Settles once it is cancelled and its bytes are gone; null where nobody cancelled it. */
  ending: Promise<void> | null;
}

interface Run {
  readonly stop: AbortController;
  readonly outcome: Promise<PullOutcome>;
}

/** The one writer of the pulls that run or are paused. */
class RunningPulls implements OwnedPulls {
  readonly #options: PullsOptions;
  readonly #jobs = new Map<string, Job>();
  #closed = false;
  #collecting: Promise<void> = Promise.resolve();
  #collectTimer: Disposable | null = null;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: PullsOptions) {
    this.#options = options;
  }

  list(): readonly PullView[] {
    return [...this.#jobs.values()].map(({ view }) => view);
  }

  async pull(
    request: PullRequest,
    tell: (view: PullView) => void,
    signal: AbortSignal,
  ): Promise<PullOutcome> {
    const asked = await identify(request);
    for (;;) {
      const ending = this.#jobs.get(asked.id)?.ending ?? null;
      if (ending === null) break;
      // Whoever cancelled it is told how that went.
      await Promise.allSettled([ending]);
    }
    // Nothing is awaited between: a job that ended meanwhile would run unknown.
    const job = this.#jobFor(asked);
    const { outcome } = this.#begin(job);
    await this.#save();
    job.watchers.add(tell);
    tell(job.view);
    try {
      return await orAborted(outcome, signal);
    } finally {
      job.watchers.delete(tell);
    }
  }

  async cancel(id: string): Promise<boolean> {
    const job = this.#jobs.get(id);
    if (job === undefined) return false;
    await (job.ending ??= this.#end(job));
    return true;
  }

  async pause(id: string): Promise<boolean> {
    const job = this.#jobs.get(id);
    if (job === undefined || job.ending !== null) return false;
    if (job.isPaused) return true;
    job.isPaused = true;
    await this.#stop(
      job,
      new PullPaused(
        `The pull was paused; \`covey pulls resume ${id}\` goes on with it`,
      ),
    );
    await this.#save();
    this.#options.log.info("Paused a pull", { source: job.view.source });
    return true;
  }

  async unpause(id: string): Promise<boolean> {
    const job = this.#jobs.get(id);
    if (job === undefined || job.ending !== null) return false;
    this.#begin(job);
    await this.#save();
    return true;
  }

  async resume(): Promise<void> {
    const { files, listPath, log } = this.#options;
    try {
      for (const { paused, request } of await readPullList(files, listPath)) {
        const job = this.#jobFor(await identify(request));
        if (paused) this.#setPaused(job);
        else {
          this.#begin(job);
          log.info("Going on with a pull", { source: job.view.source });
        }
      }
    } catch (error) {
      if (!(error instanceof FileError || error instanceof Fault)) throw error;
      log.warn("Failed to go on with pulls", { reason: error.message });
    }
    if (this.#closed) return;
    // A node may run for months.
    this.#collectTimer ??= this.#options.clock.every(
      COLLECT_EVERY_MS,
      () => void this.#collect(),
    );
    await this.#collect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#collectTimer?.[Symbol.dispose]();
    const stopping = new Fault("shutting_down", "The node is shutting down");
    await Promise.all(
      [...this.#jobs.values()].map((job) => this.#stop(job, stopping)),
    );
    await this.#collecting;
    await this.#saving;
  }

  /** One at a time; the next day tries again what failed. */
  #collect(): Promise<void> {
    return this.#collecting = this.#collecting.then(async () => {
      try {
        await collectPartials(this.#options, (id) => this.#jobs.has(id));
      } catch (error) {
        if (!(error instanceof FileError)) throw error;
        this.#options.log.warn("Failed to remove partial files", {
          reason: error.message,
        });
      }
    });
  }

  #jobFor({ id, request, source }: Identified): Job {
    const known = this.#jobs.get(id);
    if (known !== undefined) return known;
    if (this.#closed) {
      throw new Fault("shutting_down", "The node is shutting down");
    }
    if (this.#jobs.size >= MOST_KNOWN) {
      throw new Fault(
        "queue_full",
        `${MOST_KNOWN} pulls are known already: cancel one that is paused`,
      );
    }
    this.#checkRoom();
    const job: Job = {
      id,
      request,
      source,
      watchers: new Set(),
      run: null,
      isPaused: false,
      ending: null,
      view: {
        id,
        source: showPullSource(source),
        stage: "asking",
        doneBytes: 0,
        totalBytes: null,
        bytesPerSecond: null,
        remainingMs: null,
        from: [],
      },
    };
    this.#jobs.set(id, job);
    return job;
  }

  #checkRoom(): void {
    const running = [...this.#jobs.values()].filter(({ run }) => run !== null);
    if (running.length < MOST_PULLS) return;
    throw new Fault(
      "queue_full",
      `${MOST_PULLS} pulls run already: wait for one to end, or cancel one`,
    );
  }

  /** Start a job that does not run. */
  #begin(job: Job): Run {
    if (job.run !== null) return job.run;
    this.#checkRoom();
    job.isPaused = false;
    const { note: _before, ...view } = job.view;
    job.view = view;
    this.#show(job, { stage: "asking", from: [] });
    const stop = new AbortController();
    const began = Promise.withResolvers<PullOutcome>();
    const run = { stop, outcome: began.promise };
    job.run = run;
    began.resolve(this.#run(job, run));
    // Nobody may be watching when it fails; the log was told.
    run.outcome.catch(() => {});
    return run;
  }

  /** Cancel it. Until its bytes are gone it stays known: the same begun anew would lose its own. */
  async #end(job: Job): Promise<void> {
    const { allies, files } = this.#options;
    job.isPaused = false;
    await this.#stop(job, new Fault("conflict", "The pull was cancelled"));
    allies?.()?.forget?.(job.id);
    try {
      await files.remove(this.#folderOf(job.id));
    } finally {
      this.#jobs.delete(job.id);
    }
    await this.#save();
  }

  async #stop({ run }: Job, reason: Fault): Promise<void> {
    if (run === null) return;
    run.stop.abort(reason);
    await Promise.allSettled([run.outcome]);
  }

  #setPaused(job: Job): void {
    job.isPaused = true;
    job.run = null;
    this.#show(job, {
      stage: "paused",
      bytesPerSecond: null,
      remainingMs: null,
      from: [],
    });
  }

  #show(job: Job, change: Partial<PullView>): void {
    job.view = { ...job.view, ...change };
    for (const tell of job.watchers) tell(job.view);
  }

  async #run(job: Job, { stop }: Run): Promise<PullOutcome> {
    const { clock, log } = this.#options;
    const { id, request, source } = job;
    const shown = job.view.source;
    const { maxBytesPerSecond } = request;
    let isEnding = false;
    try {
      const outcome = await runPull(
        {
          ...this.#options,
          pace: new Pace(clock, maxBytesPerSecond ?? Infinity),
        },
        {
          source,
          id,
          steps: [PARTIAL_FOLDER, id],
          maxBytesPerSecond: maxBytesPerSecond ?? null,
        },
        watcherOf(clock, (change) => this.#show(job, change)),
        stop.signal,
      );
      await this.#options.files.remove(this.#folderOf(id));
      const { from, note, ...facts } = outcome;
      log.info("Pulled a model", {
        source: shown,
        ...facts,
        ...from.length === 0 ? {} : { members: from.join(", ") },
        ...note === undefined ? {} : { note },
      });
      return outcome;
    } catch (error) {
      const reason = stop.signal.aborted ? stop.signal.reason : error;
      // What it leans on may be told to stop before it is.
      isEnding = reason instanceof Fault && reason.code === "shutting_down";
      if (!stop.signal.aborted && !isEnding) {
        log.warn("Failed to pull a model", {
          source: shown,
          reason: await this.#reasonOf(error),
        });
        await this.#leaveNothingEmpty(id);
      }
      throw storageFault(reason, `pull ${shown}`);
    } finally {
      job.run = null;
      if (job.isPaused) this.#setPaused(job);
      else if (!isEnding && job.ending === null) this.#jobs.delete(id);
      // What runs when the node ends is to go on after it.
      if (!this.#closed && !isEnding) await this.#save();
    }
  }

  /** Until it is done the pull stays known, so that none begins in there. */
  async #leaveNothingEmpty(id: string): Promise<void> {
    try {
      await removeIfEmpty(this.#options.files, this.#folderOf(id));
    } catch (error) {
      // Why the pull failed says more; the collection comes by later.
      if (!(error instanceof FileError)) throw error;
    }
  }

  /** With what lies behind it, which the caller is not told. */
  async #reasonOf(error: unknown): Promise<string> {
    const { explain } = this.#options;
    if (error instanceof FileError && explain !== undefined) {
      return await explain(error);
    }
    if (!(error instanceof Error)) return String(error);
    const { cause, message } = error;
    return cause instanceof Error ? `${message} (${cause.message})` : message;
  }

  /** Writes take their turns; the last one has the last word. */
  #save(): Promise<void> {
    const { files, listPath, log } = this.#options;
    return this.#saving = this.#saving.then(async () => {
      const kept = [...this.#jobs.values()].map(({ isPaused, request }) => ({
        request,
        paused: isPaused,
      }));
      try {
        await writePullList(files, listPath, kept);
      } catch (error) {
        if (!(error instanceof FileError)) throw error;
        log.warn("Failed to keep the list of pulls", { reason: error.message });
      }
    });
  }

  #folderOf(id: string): string {
    return `${this.#options.modelsDir}/${PARTIAL_FOLDER}/${id}`;
  }
}

/** Give all who ask for the same one id. */
async function identify(request: PullRequest): Promise<Identified> {
  const source = parsePullSource(request);
  const text = source.kind === "url" ? source.url.href : showPullSource(source);
  const bytes = new TextEncoder().encode(text);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  const id = new Uint8Array(digest).toHex().slice(0, 16);
  return { id, request, source };
}
