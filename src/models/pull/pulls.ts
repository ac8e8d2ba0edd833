import {
  Fault,
  type Log,
  type ModelPulls,
  type PullOutcome,
  type PullRequest,
  type PullView,
} from "../../domain/mod.ts";
import { FileError } from "../../platform/mod.ts";
import { storageFault } from "../storage_fault.ts";
import { Pace } from "./pace.ts";
import { type PullPorts, type PullWatcher, runPull } from "./pull_job.ts";
import { readPullList, writePullList } from "./pull_list.ts";
import {
  parsePullSource,
  type PullSource,
  showPullSource,
} from "./pull_source.ts";

const MOST_PULLS = 8;
/** Partial files of no pull are kept that long for whoever pulls again. */
const STALE_MS = 7 * 24 * 3_600_000;
/** Hidden, so that no scan takes what is in it for a model. */
const PARTIAL_FOLDER = ".partial";

/** What pulls need. */
export interface PullsOptions extends Omit<PullPorts, "pace"> {
  readonly log: Log;
  /** File that running pulls are kept in. */
  readonly listPath: string;
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

interface Job {
  readonly id: string;
  readonly request: PullRequest;
  readonly source: PullSource;
  readonly stop: AbortController;
  readonly watchers: Set<(view: PullView) => void>;
  readonly outcome: Promise<PullOutcome>;
  view: PullView;
}

/** The one writer of the pulls that run. */
class RunningPulls implements OwnedPulls {
  readonly #options: PullsOptions;
  readonly #jobs = new Map<string, Job>();
  #closed = false;
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
    const job = await this.#jobFor(request);
    await this.#save();
    job.watchers.add(tell);
    tell(job.view);
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([job.outcome, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      job.watchers.delete(tell);
    }
  }

  async cancel(id: string): Promise<boolean> {
    const job = this.#jobs.get(id);
    if (job === undefined) return false;
    job.stop.abort(new Fault("conflict", "The pull was cancelled"));
    await Promise.allSettled([job.outcome]);
    await this.#options.files.remove(this.#folderOf(id));
    return true;
  }

  async resume(): Promise<void> {
    const { files, listPath, log } = this.#options;
    try {
      for (const request of await readPullList(files, listPath)) {
        const { view } = await this.#jobFor(request);
        log.info("Going on with a pull", { source: view.source });
      }
      await this.#collectGarbage();
    } catch (error) {
      if (!(error instanceof FileError || error instanceof Fault)) throw error;
      log.warn("Failed to go on with pulls", { reason: error.message });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const stopping = new Fault("shutting_down", "The node is shutting down");
    for (const { stop } of this.#jobs.values()) stop.abort(stopping);
    await Promise.allSettled(
      [...this.#jobs.values()].map(({ outcome }) => outcome),
    );
    await this.#saving;
  }

  async #jobFor(request: PullRequest): Promise<Job> {
    const source = parsePullSource(request);
    const id = await idOf(source);
    const running = this.#jobs.get(id);
    if (running !== undefined) return running;
    if (this.#closed) {
      throw new Fault("shutting_down", "The node is shutting down");
    }
    if (this.#jobs.size >= MOST_PULLS) {
      throw new Fault(
        "queue_full",
        `${MOST_PULLS} pulls run already: wait for one to end, or cancel one`,
      );
    }
    const began = Promise.withResolvers<PullOutcome>();
    const job: Job = {
      id,
      request,
      source,
      stop: new AbortController(),
      watchers: new Set(),
      outcome: began.promise,
      view: {
        id,
        source: showPullSource(source),
        stage: "asking",
        doneBytes: 0,
        totalBytes: null,
        bytesPerSecond: null,
        remainingMs: null,
      },
    };
    this.#jobs.set(id, job);
    began.resolve(this.#run(job));
    // Nobody may be watching when it fails; the log was told.
    job.outcome.catch(() => {});
    return job;
  }

  async #run(job: Job): Promise<PullOutcome> {
    const { clock, log } = this.#options;
    const { id, request, source, stop } = job;
    const pace = new Pace(clock, request.maxBytesPerSecond ?? Infinity);
    const shown = job.view.source;
    try {
      const outcome = await runPull(
        { ...this.#options, pace },
        source,
        [PARTIAL_FOLDER, id],
        this.#watcherOf(job),
        stop.signal,
      );
      await this.#options.files.remove(this.#folderOf(id));
      log.info("Pulled a model", { source: shown, ...outcome });
      return outcome;
    } catch (error) {
      const reason = stop.signal.aborted ? stop.signal.reason : error;
      if (!stop.signal.aborted) {
        log.warn("Failed to pull a model", {
          source: shown,
          reason: reasonOf(error),
        });
      }
      throw storageFault(reason, `pull ${shown}`);
    } finally {
      this.#jobs.delete(id);
      // What runs when the node ends is to go on after it.
      if (!this.#closed) await this.#save();
    }
  }

  #watcherOf(job: Job): PullWatcher {
    const { clock } = this.#options;
    let first: { readonly atMs: number; readonly bytes: number } | null = null;
    const show = (change: Partial<PullView>) => {
      job.view = { ...job.view, ...change };
      for (const tell of job.watchers) tell(job.view);
    };
    return {
      planned: (totalBytes) => show({ totalBytes }),
      downloading(doneBytes, totalBytes) {
        const nowMs = clock.monotonic();
        first ??= { atMs: nowMs, bytes: doneBytes };
        const tookMs = nowMs - first.atMs;
        const rate = tookMs > 0
          ? Math.max(0, doneBytes - first.bytes) / tookMs
          : 0;
        show({
          stage: "downloading",
          doneBytes,
          totalBytes,
          bytesPerSecond: rate > 0 ? Math.round(rate * 1_000) : null,
          remainingMs: rate > 0 && totalBytes !== null
            ? Math.round(Math.max(0, totalBytes - doneBytes) / rate)
            : null,
        });
      },
      verifying: () => show({ stage: "verifying", remainingMs: null }),
      publishing: () => show({ stage: "publishing" }),
    };
  }

  /** Writes take their turns; the last one has the last word. */
  #save(): Promise<void> {
    const { files, listPath, log } = this.#options;
    return this.#saving = this.#saving.then(async () => {
      const requests = [...this.#jobs.values()].map(({ request }) => request);
      try {
        await writePullList(files, listPath, requests);
      } catch (error) {
        if (!(error instanceof FileError)) throw error;
        log.warn("Failed to keep the list of pulls", { reason: error.message });
      }
    });
  }

  async #collectGarbage(): Promise<void> {
    const { clock, files, modelsDir } = this.#options;
    const folder = `${modelsDir}/${PARTIAL_FOLDER}`;
    let entries;
    try {
      entries = await files.list(folder);
    } catch (error) {
      if (error instanceof FileError && error.problem === "missing") return;
      throw error;
    }
    for (const { name } of entries) {
      if (this.#jobs.has(name)) continue;
      const { modifiedMs } = await files.stat(`${folder}/${name}`);
      if (modifiedMs === null || clock.now() - modifiedMs < STALE_MS) continue;
      await files.remove(`${folder}/${name}`);
    }
  }

  #folderOf(id: string): string {
    return `${this.#options.modelsDir}/${PARTIAL_FOLDER}/${id}`;
  }
}

/** With what lies behind it, which the caller is not told. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause, message } = error;
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}

/** One id for all who ask for the same. */
async function idOf(source: PullSource): Promise<string> {
  const text = source.kind === "url" ? source.url.href : showPullSource(source);
  const bytes = new TextEncoder().encode(text);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return new Uint8Array(digest).toHex().slice(0, 16);
}
