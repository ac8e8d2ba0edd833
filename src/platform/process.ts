/** How a child ended. */
export interface ExitStatus {
  /** Exit code. */
  readonly code: number;
  /** Signal that ended it, or null. */
  readonly signal: string | null;
}

/** A running child process. Its owner must await `exited`. */
export interface Child {
  /** Its process id. */
  readonly pid: number;
  /** What it writes. */
  readonly stdout: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** What it writes for people. */
  readonly stderr: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Resolves when it is gone. */
  readonly exited: Promise<ExitStatus>;
  /**
   * Open as long as the parent lives: a child that reads its end knows that
   * the parent is gone, however it went.
   */
  readonly stdin: WritableStream<Uint8Array<ArrayBuffer>>;
  /** Send a signal; one to a child that is gone already is no error. */
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

/** What to start. */
export interface SpawnOptions {
  /** Program and arguments. */
  readonly command: readonly string[];
  /** The child's whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Folder to run it in. */
  readonly cwd?: string;
  /**
   * Whether it gets a process group of its own: signals then go to all that it
   * starts as well, and what is left of them is killed once it is gone. Signals
   * of a terminal do not reach them. Absent for no.
   */
  readonly ownGroup?: boolean;
}

/** Starting children. */
export interface Processes {
  /**
   * Start a child with all three streams piped.
   *
   * @throws {Error} When the program can not be started.
   */
  spawn(options: SpawnOptions): Child;
  /**
   * Command line that starts this very program again, to which arguments are
   * added: the compiled executable alone, or the runtime with its main module.
   */
  readonly self: readonly string[];
}
