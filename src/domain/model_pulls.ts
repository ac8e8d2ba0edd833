/** What to pull. */
export interface PullRequest {
  /** A hub's repository, as `org/repo[:quantisation]`, or a URL. */
  readonly source: string;
  /** Branch, tag or commit of a repository; its main branch unless told otherwise. */
  readonly revision?: string;
  /** Most bytes a second; as fast as it goes unless told otherwise. */
  readonly maxBytesPerSecond?: number;
}

/** How far a pull is. */
export interface PullView {
  /** Names the pull. */
  readonly id: string;
  /** What is pulled, without the query of a URL. */
  readonly source: string;
  /** What it is doing; `waiting` is for a member that pulls the same, `relaying` is from one that still does, `copying` from those that have it. */
  readonly stage:
    | "asking"
    | "waiting"
    | "relaying"
    | "copying"
    | "downloading"
    | "verifying"
    | "publishing"
    | "paused";
  /** What it has so far. */
  readonly doneBytes: number;
  /** Null while it is not known. */
  readonly totalBytes: number | null;
  /** Mean of this run, or null before its first byte. */
  readonly bytesPerSecond: number | null;
  /** Time left at that rate, in milliseconds. */
  readonly remainingMs: number | null;
  /** Names of members that give the bytes, or are waited for; none where they come from the source. */
  readonly from: readonly string[];
  /** What to know of it: that its source can not be reached, say; absent for nothing. */
  readonly note?: string;
}

/** What a pull came to. */
export interface PullOutcome {
  /** Name the model is offered under. */
  readonly model: string;
  /** Size of all its files. */
  readonly sizeBytes: number;
  /** Whether the bytes were compared with a digest that the source published. */
  readonly verified: boolean;
  /** Names of members that gave the bytes; none where the source did, or it was here already. */
  readonly from: readonly string[];
  /** What to know of it; absent for nothing. */
  readonly note?: string;
}

/** Models that are being fetched from a hub or a URL. */
export interface ModelPulls {
  /**
   * Pull a model, or watch the pull of it that runs already. It goes on when
   * the caller leaves, and after a restart.
   *
   * @param request What to pull.
   * @param tell Called with each step of progress.
   * @param signal Aborting it ends the watching with the signal's reason.
   * @throws {Fault} When it can not be pulled.
   */
  pull(
    request: PullRequest,
    tell: (view: PullView) => void,
    signal: AbortSignal,
  ): Promise<PullOutcome>;
  /** Pulls that run or are paused, in the order in which they began. */
  list(): readonly PullView[];
  /**
   * End a pull and remove what it has fetched.
   *
   * @returns False where there is no such pull.
   */
  cancel(id: string): Promise<boolean>;
  /**
   * Stop a pull until it is resumed, also over restarts; what it has fetched
   * stays. Whoever watches it is told by a fault.
   *
   * @returns False where there is no such pull.
   */
  pause(id: string): Promise<boolean>;
  /**
   * Go on with a pull that was paused.
   *
   * @returns False where there is no such pull.
   * @throws {Fault} When too many pulls run.
   */
  unpause(id: string): Promise<boolean>;
}
