/** What a folder entry or file is. */
export interface FileFact {
  /** Name within its folder. */
  readonly name: string;
  /** What it is; links are not followed. */
  readonly kind: "file" | "folder" | "link" | "other";
}

/** Size and identity of a file, links followed. */
export interface FileStat {
  /** Its size. */
  readonly sizeBytes: number;
  /** What it is. */
  readonly kind: "file" | "folder" | "other";
  /** When it was written last, in milliseconds since the epoch. */
  readonly modifiedMs: number | null;
  /** Device and inode, where the platform has them: two names of one file share it. */
  readonly identity: string | null;
}

/** A file open for reading at any place. */
export interface OpenFile extends Disposable {
  /**
   * Read at an offset.
   *
   * @returns As many bytes as there were, at most `length`; fewer only at the end.
   */
  read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Read at an offset into memory that is there already, which for whole files
   * is the way to leave no heap of buffers behind.
   *
   * @returns How many bytes there were; fewer than fit only at the end.
   */
  readInto(offset: number, buffer: Uint8Array<ArrayBuffer>): Promise<number>;
}

/** A file open for writing at any place; what is not written over stays. */
export interface WritableFile extends Disposable {
  /**
   * Write all of these bytes at an offset; past the end, the file grows. Calls
   * take their turns, so that several may run at once.
   */
  write(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Wait until what was written would survive a power cut. */
  sync(): Promise<void>;
}

/** Why a file operation failed, for callers that decide by it. */
export type FileProblem =
  | "missing"
  | "denied"
  | "full"
  | "read_only"
  | "exists"
  /** Something is a file, or no folder at least, that a folder is needed for. */
  | "no_folder"
  /** A folder stands where a file is needed. */
  | "folder"
  | "other";

/** A file operation that failed. The message names the action and the path. */
export class FileError extends Error {
  /** Name of the class. */
  override readonly name = "FileError";
  /** What went wrong. */
  readonly problem: FileProblem;
  /** The file or folder. */
  readonly path: string;
  /** What went wrong, in words. */
  readonly reason: string;

  /**
   * Make an error.
   *
   * @param problem What went wrong.
   * @param path The file or folder.
   * @param action What was tried, as a verb.
   * @param cause What the system said.
   */
  constructor(
    problem: FileProblem,
    path: string,
    action: string,
    cause: unknown,
  ) {
    super(`Failed to ${action} "${path}": ${REASON[problem]}`, { cause });
    this.problem = problem;
    this.path = path;
    this.reason = REASON[problem];
  }
}

const REASON: Readonly<Record<FileProblem, string>> = {
  missing: "there is no such file or folder",
  denied: "permission denied",
  full: "no space left on the device",
  read_only: "the file system is read-only",
  exists: "it exists already",
  no_folder: "a part of the path is no folder",
  folder: "it is a folder",
  other: "the operation failed",
};

/** The file system. Every method throws `FileError`. */
export interface Files {
  /** Read a whole file. */
  readBytes(path: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Read a whole file as UTF-8. */
  readText(path: string): Promise<string>;
  /**
   * Write a whole file so that a reader, or a power cut, sees the old content
   * or the new, never part of either.
   *
   * @param mode Permission bits, for example 0o600.
   */
  writeAtomic(
    path: string,
    content: Uint8Array<ArrayBuffer> | string,
    mode: number,
  ): Promise<void>;
  /** Make a folder and those above it; existing ones stay as they are. */
  makeFolder(path: string, mode: number): Promise<void>;
  /** Entries of a folder, sorted by name. */
  list(path: string): Promise<readonly FileFact[]>;
  /** Inspect a file or folder. */
  stat(path: string): Promise<FileStat>;
  /** Open a file for reading. */
  open(path: string): Promise<OpenFile>;
  /**
   * Open a file for writing; it is made where there is none.
   *
   * @param mode Permission bits of a new file, for example 0o600.
   */
  openForWriting(path: string, mode: number): Promise<WritableFile>;
  /** Give a file another path, replacing what is there. */
  /**
   * Hold a file for this process alone, until disposed of or until the process
   * ends, however it ends. The file is made where there is none, and stays.
   *
   * @returns Null when another process holds it.
   */
  lock(path: string): Promise<Disposable | null>;
  /** Give a file another path, replacing what is there. */
  rename(from: string, to: string): Promise<void>;
  /**
   * Give a file, links followed, a second path, at which nothing may be: as
   * another name for the same bytes where the file system can, else as a copy.
   */
  link(from: string, to: string): Promise<"linked" | "copied">;
  /** Remove a file or folder with all in it; one that is not there is no error. */
  remove(path: string): Promise<void>;
  /**
   * Remove a folder in which nothing is. A link, a file and a folder that holds
   * something stay as they are.
   *
   * @returns Whether it was removed.
   */
  removeEmptyFolder(path: string): Promise<boolean>;
}

/**
 * Say of a denied operation which folder keeps its path from being reached,
 * and whom: a message about the path alone sends people to look at a folder
 * that is in order.
 *
 * @param files The file system.
 * @param error What failed; anything but a denial keeps its own message.
 * @param userId Number of the user that this process runs as, or null.
 * @returns The message, without a full stop.
 */
export async function explainDenial(
  files: Files,
  { message, path, problem }: FileError,
  userId: number | null,
): Promise<string> {
  if (problem !== "denied") return message;
  const closed = await findClosed(files, path);
  const where = closed === null ? "" : ` in "${closed}"`;
  return `${message}${where}${userId === null ? "" : ` (user ${userId})`}`;
}

/** The uppermost folder that may not be entered, or null where all above the path may. */
async function findClosed(
  files: Files,
  path: string,
): Promise<string | null> {
  let folder = "";
  for (const part of path.split("/").filter((part) => part !== "")) {
    const next = `${folder}/${part}`;
    try {
      await files.stat(next);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      return error.problem === "denied" ? folder || "/" : null;
    }
    folder = next;
  }
  return null;
}
