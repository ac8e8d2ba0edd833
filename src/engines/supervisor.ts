import { Fault } from "../domain/mod.ts";
import { orAborted } from "../platform/mod.ts";
import { backOffMs } from "./back_off.ts";
import type { CardReport } from "./card_report.ts";
import type { ChildEvent } from "./child_event.ts";
import { runChild } from "./child_run.ts";
import type {
  Lease,
  SupervisorOptions,
  SupervisorStatus,
  Wish,
} from "./supervision.ts";

const STOP_GRACE_MS = 3_000;
/** When to look again whether others have given memory back. */
const MISFIT_RETRY_MS = 2_000;
/** After so long in health a crash counts as the first one. */
const HEALTHY_AFTER_MS = 60_000;

type State<Channel> =
  | { readonly state: "stopped" }
  | {
    readonly state: "starting";
    readonly job: Job<Channel>;
    readonly progress: number;
  }
  | {
    readonly state: "ready";
    readonly job: Job<Channel>;
    readonly lease: { readonly channel: Channel; readonly died: AbortSignal };
    readonly readyMs: number;
    readonly contextLength: number;
    readonly slots: number;
    readonly card: CardReport | null | undefined;
  }
  | { readonly state: "stopping"; readonly job: Job<Channel> }
  | {
    readonly state: "failed";
    readonly code: FailureCode;
    readonly reason: string;
    readonly retryAtMs: number;
  };

type Ready<Channel> = Extract<State<Channel>, { readonly state: "ready" }>;

/** What a failed start may be told as: a lack of memory is no fault of the engine. */
type FailureCode = "engine_failed" | "insufficient_memory";

/** One start and all that comes of it. */
interface Job<Channel> {
  readonly startedMs: number;
  readonly start: number;
  /** Tokens of context it was asked to have; 0 for the usual. */
  readonly contextLength: number;
  /** Settles when the process is ready, or will never be. */
  readonly ready: PromiseWithResolvers<void>;
  /** Aborted to call the whole thing off. */
  readonly stopping: AbortController;
  /** Aborted with a clause that says why the process is given up. */
  readonly failing: AbortController;
  /** Aborted once the process is gone. */
  readonly died: AbortController;
  /** Resolves when everything is cleaned up. Never rejects. */
  readonly ended: PromiseWithResolvers<void>;
  channel: Channel | null;
  pid: number | null;
}

/** A caller on its way to a lease. */
interface Waiting {
  readonly contextLength: number;
}

/**
 * Owns one process's life: starts it on demand, shares one start between all
 * who ask, backs off after failures and stops it when idle. Its one writer:
 * callers ask for a state and never look first and act then.
 */
export class Supervisor<Channel extends AsyncDisposable>
  implements AsyncDisposable {
  readonly #options: SupervisorOptions<Channel>;
  #state: State<Channel> = { state: "stopped" };
  #failures = 0;
  #starts = 0;
  /** Leases out, and callers who wait for one. */
  #users = 0;
  /** Leases that are out. */
  #leases = 0;
  readonly #waiting = new Set<Waiting>();
  /** Rung when a lease comes back or somebody waits no more. */
  #change = Promise.withResolvers<void>();
  #lastUsedMs = 0;
  #keepAliveMs: number;
  #idle: (Disposable & { readonly atMs: number }) | null = null;
  #closed = false;
  /** Jobs that have not cleaned up yet; more than one only around a restart. */
  readonly #jobs = new Set<Promise<void>>();

  constructor(options: SupervisorOptions<Channel>) {
    this.#options = options;
    this.#keepAliveMs = options.keepAliveMs;
  }

  /** Where things stand. */
  status(): SupervisorStatus {
    const state = this.#state;
    const nowMs = this.#options.clock.monotonic();
    switch (state.state) {
      case "stopped":
      case "stopping":
        return { state: state.state };
      case "starting":
        return {
          state: "starting",
          elapsedMs: nowMs - state.job.startedMs,
          progress: state.progress,
        };
      case "ready":
        return {
          state: "ready",
          loadTimeMs: state.readyMs - state.job.startedMs,
          contextLength: state.contextLength,
          slots: state.slots,
          ...state.card === undefined ? {} : { card: state.card },
          inUse: this.#users > 0,
          lastUsedMs: this.#lastUsedMs,
          expiresInMs: this.#idle === null
            ? null
            : Math.max(0, this.#idle.atMs - nowMs),
          pid: state.job.pid,
          start: state.job.start,
        };
      case "failed": {
        const retryInMs = state.retryAtMs - nowMs;
        // The next caller may try again: that is as good as stopped.
        if (retryInMs <= 0) return { state: "stopped" };
        return {
          state: "failed",
          reason: state.reason,
          isMisfit: state.code === "insufficient_memory",
          retryInMs,
        };
      }
      default: {
        const never: never = state;
        return never;
      }
    }
  }

  /**
   * Have the process running and keep it so until the lease is disposed of.
   *
   * @param signal Aborting it ends this caller's wait, never the load.
   * @param wish What the caller wants beyond that. For more context than it was started with, the process is started anew once nobody uses it; who comes meanwhile waits.
   * @throws {Fault} When the process can not be had.
   */
  async ensureReady(
    signal: AbortSignal,
    wish: Wish = {},
  ): Promise<Lease<Channel>> {
    const waiting: Waiting = { contextLength: wish.contextLength ?? 0 };
    this.#enter();
    this.#waiting.add(waiting);
    try {
      for (;;) {
        signal.throwIfAborted();
        const ready = await this.#step(signal);
        if (ready === null) continue;
        this.#keepAliveMs = wish.keepAliveMs ?? this.#keepAliveMs;
        return this.#lend(ready);
      }
    } catch (error) {
      this.#leave();
      throw error;
    } finally {
      this.#waiting.delete(waiting);
      this.#ring();
    }
  }

  /** The right to use the process where it is ready and nobody uses it or waits for it, else null. */
  borrowIdle(): Lease<Channel> | null {
    if (this.#state.state !== "ready" || this.#users > 0) return null;
    this.#enter();
    return this.#lend(this.#state);
  }

  /**
   * Stop the process, unless somebody uses it or waits for it.
   *
   * @returns Whether it is stopped.
   */
  async stopIfIdle(): Promise<boolean> {
    if (this.#users > 0) return false;
    await this.stop();
    return true;
  }

  /** Have a process that is in use stopped once nobody uses it, unless a caller wishes otherwise meanwhile. */
  expire(): void {
    if (this.#state.state === "ready") this.#keepAliveMs = 0;
  }

  /** Stop the process, whoever uses it, and forget earlier failures. */
  async stop(): Promise<void> {
    const state = this.#state;
    switch (state.state) {
      case "stopped":
        return;
      case "failed":
        this.#failures = 0;
        this.#state = { state: "stopped" };
        return;
      case "starting":
      case "ready":
        this.#callOff(state.job);
        await state.job.ended.promise;
        return;
      case "stopping":
        await state.job.ended.promise;
        return;
      default: {
        const never: never = state;
        return never;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.stop();
    await Promise.all(this.#jobs);
  }

  /** One step towards readiness; null when another look is needed. */
  async #step(signal: AbortSignal): Promise<Ready<Channel> | null> {
    const state = this.#state;
    if (this.#closed) {
      throw new Fault("shutting_down", "This node is shutting down");
    }
    switch (state.state) {
      case "stopped":
        this.#start();
        return null;
      case "failed": {
        const retryAfterMs = state.retryAtMs - this.#options.clock.monotonic();
        if (retryAfterMs > 0) {
          throw new Fault(state.code, state.reason, { retryAfterMs });
        }
        this.#start();
        return null;
      }
      case "starting":
        await orAborted(state.job.ready.promise, signal);
        return null;
      case "stopping":
        await orAborted(state.job.ended.promise, signal);
        return null;
      case "ready":
        if (this.#wished() <= contextOf(state)) return state;
        if (this.#leases === 0) this.#callOff(state.job);
        else await orAborted(this.#change.promise, signal);
        return null;
      default: {
        const never: never = state;
        return never;
      }
    }
  }

  /** Tokens of context that the most demanding of those who wait wants beyond the usual; 0 for nobody. */
  #wished(): number {
    return Math.max(
      0,
      ...[...this.#waiting].map(({ contextLength }) => contextLength),
    );
  }

  #ring(): void {
    const { resolve } = this.#change;
    this.#change = Promise.withResolvers();
    resolve();
  }

  #start(): void {
    const job: Job<Channel> = {
      startedMs: this.#options.clock.monotonic(),
      start: ++this.#starts,
      contextLength: this.#wished(),
      ready: Promise.withResolvers(),
      stopping: new AbortController(),
      failing: new AbortController(),
      died: new AbortController(),
      ended: Promise.withResolvers(),
      channel: null,
      pid: null,
    };
    // Those who wait see the rejection; a load nobody waits for any more may fail alone.
    job.ready.promise.catch(() => {});
    this.#state = { state: "starting", job, progress: 0 };
    const running = this.#run(job).then(() => {
      this.#jobs.delete(running);
      job.ended.resolve();
    });
    this.#jobs.add(running);
  }

  /** From preparation to the end of the process and of what it used. Never rejects. */
  async #run(job: Job<Channel>): Promise<void> {
    const { clock, log, name, prepare, processes } = this.#options;
    const { loadDeadlineMs, stopGraceMs = STOP_GRACE_MS } = this.#options;
    const stopping = job.stopping.signal;
    try {
      const launch = await prepare(stopping, job.contextLength);
      await using channel = launch.channel;
      job.channel = channel;
      stopping.throwIfAborted();
      const child = processes.spawn(launch.spawn);
      job.pid = child.pid;
      log.info("Starting an engine", { model: name, pid: child.pid });
      const reason = await runChild({
        child,
        name,
        token: launch.token,
        clock,
        log,
        stopping,
        failing: job.failing.signal,
        stopGraceMs,
        loadDeadlineMs: loadDeadlineMs(),
        onEvent: (event) => this.#hear(job, event),
      });
      this.#finish(
        job,
        "engine_failed",
        `The engine of ${JSON.stringify(name)} ${reason}`,
      );
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!stopping.aborted) {
        log.error("Failed to start an engine", { model: name, reason });
      }
      this.#finish(
        job,
        error instanceof Fault && error.code === "insufficient_memory"
          ? error.code
          : "engine_failed",
        error instanceof Fault
          ? error.message
          : `The engine of ${JSON.stringify(name)} could not be started`,
      );
    }
  }

  #hear(job: Job<Channel>, event: ChildEvent): void {
    const state = this.#state;
    const { clock, log, name } = this.#options;
    if (state.state !== "starting" || state.job !== job) return;
    switch (event.kind) {
      case "listening":
      case "failed":
        return;
      case "loading":
        this.#state = { ...state, progress: event.progress };
        return;
      case "ready": {
        if (job.channel === null) return;
        const readyMs = clock.monotonic();
        this.#state = {
          state: "ready",
          job,
          lease: { channel: job.channel, died: job.died.signal },
          readyMs,
          contextLength: event.contextLength,
          slots: event.slots,
          card: event.card,
        };
        log.info("An engine is ready", {
          model: name,
          loadTimeMs: Math.round(readyMs - job.startedMs),
        });
        this.#options.onLoaded?.(readyMs - job.startedMs, event.card);
        job.ready.resolve();
        if (this.#users === 0) this.#startIdling();
        return;
      }
      default: {
        const never: never = event;
        return never;
      }
    }
  }

  /** Take note of a job's end, once, and tell all who depend on it. */
  #finish(job: Job<Channel>, code: FailureCode, message: string): void {
    if (job.died.signal.aborted) return;
    const state = this.#state;
    const nowMs = this.#options.clock.monotonic();
    this.#stopIdling();
    // Who waits for its next start may have been told that it stays.
    if (this.#users === 0) this.#keepAliveMs = this.#options.keepAliveMs;
    if (job.stopping.signal.aborted) {
      this.#state = { state: "stopped" };
    } else if (code === "insufficient_memory") {
      const retryAtMs = nowMs + MISFIT_RETRY_MS;
      this.#state = { state: "failed", code, reason: message, retryAtMs };
    } else {
      const healthy = state.state === "ready" &&
        nowMs - state.readyMs >= HEALTHY_AFTER_MS;
      this.#failures = healthy ? 1 : this.#failures + 1;
      const retryAtMs = nowMs + backOffMs(this.#failures);
      this.#state = { state: "failed", code, reason: message, retryAtMs };
    }
    const fault = this.#closed
      ? new Fault("shutting_down", "This node is shutting down")
      : new Fault(code, message);
    job.died.abort(fault);
    job.ready.reject(fault);
  }

  /** Begin to stop; the job's `ended` tells when that is done. */
  #callOff(job: Job<Channel>): void {
    this.#stopIdling();
    this.#state = { state: "stopping", job };
    job.stopping.abort();
  }

  #lend({ job, lease }: Ready<Channel>): Lease<Channel> {
    this.#leases++;
    return {
      ...lease,
      giveUp: (why) => {
        if (this.#state.state !== "ready" || this.#state.job !== job) return;
        // Nobody else is sent there while it goes.
        this.#state = { state: "stopping", job };
        job.failing.abort(why);
      },
      [Symbol.dispose]: this.#exit(),
    };
  }

  #enter(): void {
    this.#users++;
    this.#stopIdling();
  }

  #exit(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#leases--;
      this.#leave();
      this.#ring();
    };
  }

  #leave(): void {
    this.#users--;
    this.#lastUsedMs = this.#options.clock.monotonic();
    if (this.#users === 0 && this.#state.state === "ready") this.#startIdling();
  }

  #stopIdling(): void {
    this.#idle?.[Symbol.dispose]();
    this.#idle = null;
  }

  #startIdling(): void {
    const { clock, isPinned = false, log, name } = this.#options;
    const keepAliveMs = this.#keepAliveMs;
    this.#stopIdling();
    if (isPinned || !Number.isFinite(keepAliveMs)) return;
    const timer = clock.after(keepAliveMs, () => {
      const state = this.#state;
      if (this.#users > 0 || state.state !== "ready") return;
      log.info("Unloading an idle model", { model: name });
      this.#callOff(state.job);
    });
    this.#idle = {
      atMs: clock.monotonic() + keepAliveMs,
      [Symbol.dispose]: () => timer[Symbol.dispose](),
    };
  }
}

/** Tokens of context that a process has, or was to have as far as it can. */
function contextOf(ready: {
  readonly contextLength: number;
  readonly job: { readonly contextLength: number };
}): number {
  return Math.max(ready.contextLength, ready.job.contextLength);
}
