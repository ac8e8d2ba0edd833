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
  /** What it is doing. */
  readonly stage: "asking" | "downloading" | "verifying" | "publishing";
  /** What it has so far. */
  readonly doneBytes: number;
  /** Null while it is not known. */
  readonly totalBytes: number | null;
  /** Mean of this run, or null before its first byte. */
  readonly bytesPerSecond: number | null;
  /** Time left at that rate, in milliseconds. */
  readonly remainingMs: number | null;
}

/** What a pull came to. */
export interface PullOutcome {
  /** Name the model is offered under. */
  readonly model: string;
  /** Size of all its files. */
  readonly sizeBytes: number;
  /** Whether the bytes were compared with a digest that the source published. */
  readonly verified: boolean;
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
  /** Pulls that run, in the order in which they began. */
  list(): readonly PullView[];
  /**
   * End a pull and remove what it has fetched.
   *
   * @returns False where no such pull runs.
   */
  cancel(id: string): Promise<boolean>;
}
