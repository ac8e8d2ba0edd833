import type { Log } from "../domain/mod.ts";
import type { Clock, Processes, SpawnOptions } from "../platform/mod.ts";
import type { CardReport } from "./card_report.ts";

/** What is needed to start one process, made anew for every start. */
export interface Launch<Channel extends AsyncDisposable> {
  readonly spawn: SpawnOptions;
  /** First line for the process: what it asks its callers for. */
  readonly token: string;
  /** The way to talk to it; disposed of once it is gone. */
  readonly channel: Channel;
}

/** What a supervisor is built from. */
export interface SupervisorOptions<Channel extends AsyncDisposable> {
  /** Name of what the process serves, for the log and for messages. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly processes: Pick<Processes, "spawn">;
  /**
   * Get ready for a start.
   *
   * @param signal Aborted when the start is called off.
   * @param contextLength Tokens of context that somebody asks for beyond the usual; 0 for nobody.
   * @throws {Fault} When it can not be started; the message is passed on.
   */
  readonly prepare: (
    signal: AbortSignal,
    contextLength: number,
  ) => Promise<Launch<Channel>>;
  /** Time a load may take; asked at each start. */
  readonly loadDeadlineMs: () => number;
  /** Told of each load that came to its end, with its time in milliseconds and what the process says of cards. */
  readonly onLoaded?: (
    loadTimeMs: number,
    card: CardReport | null | undefined,
  ) => void;
  /** Idle time before the process is stopped, unless a caller says otherwise; `Infinity` for never. */
  readonly keepAliveMs: number;
  /** Whether it is to stay for good once it is there; absent for no. */
  readonly isPinned?: boolean;
  /** Time between SIGTERM and SIGKILL; 3 s unless given. */
  readonly stopGraceMs?: number;
}

/** What one caller wants of the process beyond that it runs. */
export interface Wish {
  /** Idle time before it is stopped, until somebody wishes otherwise or it stops; `Infinity` for never, absent for no wish. */
  readonly keepAliveMs?: number;
  /** Tokens of context it must have; absent for what it is usually started with. */
  readonly contextLength?: number;
}

/** The right to use a ready process. As long as it is held, the process is not idle. */
export interface Lease<Channel> extends Disposable {
  readonly channel: Channel;
  /** Aborts with a `Fault` once the process is gone. */
  readonly died: AbortSignal;
  /**
   * End the process as one that failed by itself.
   *
   * @param why A clause that follows "The engine".
   */
  giveUp(why: string): void;
}

/** A snapshot for views; never a reason to act. */
export type SupervisorStatus =
  | { readonly state: "stopped" }
  | {
    readonly state: "starting";
    readonly elapsedMs: number;
    /** Part of the load that is done, 0 to 1. */
    readonly progress: number;
  }
  | {
    readonly state: "ready";
    /** From the start of the process to its readiness. */
    readonly loadTimeMs: number;
    /** Tokens of context a slot has. */
    readonly contextLength: number;
    readonly slots: number;
    /** The cards it computes on; null for none but the processor, absent where it does not say. */
    readonly card?: CardReport | null;
    readonly inUse: boolean;
    /** Monotonic time at which it was last let go. */
    readonly lastUsedMs: number;
    /** Time until it is stopped if nobody uses it; null for never, and while it is in use. */
    readonly expiresInMs: number | null;
    readonly pid: number | null;
    /** Which of this supervisor's starts it came from, counting from 1. */
    readonly start: number;
  }
  | { readonly state: "stopping" }
  | {
    readonly state: "failed";
    readonly reason: string;
    /** Whether it was for want of memory, which others hold. */
    readonly isMisfit: boolean;
    readonly retryInMs: number;
  };
