/** What a folder entry or file is. */
export interface FileFact {
  readonly name: string;
  readonly kind: "file" | "folder" | "link" | "other";
}

/** Size and identity of a file, links followed. */
export interface FileStat {
  readonly sizeBytes: number;
  readonly kind: "file" | "folder" | "other";
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
}

/** Why a file operation failed, for callers that decide by it. */
export type FileProblem =
  | "missing"
  | "denied"
  | "full"
  | "read_only"
  | "exists"
  | "other";

/** A file operation that failed. The message names the action and the path. */
export class FileError extends Error {
  override readonly name = "FileError";
  readonly problem: FileProblem;
  readonly path: string;

  constructor(
    problem: FileProblem,
    path: string,
    action: string,
    cause: unknown,
  ) {
    super(`Failed to ${action} "${path}": ${REASON[problem]}`, { cause });
    this.problem = problem;
    this.path = path;
  }
}

const REASON: Readonly<Record<FileProblem, string>> = {
  missing: "there is no such file or folder",
  denied: "permission denied",
  full: "no space left on the device",
  read_only: "the file system is read-only",
  exists: "it exists already",
  other: "the operation failed",
};

/** The file system. Every method throws `FileError`. */
export interface Files {
  readBytes(path: string): Promise<Uint8Array<ArrayBuffer>>;
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
  stat(path: string): Promise<FileStat>;
  open(path: string): Promise<OpenFile>;
  rename(from: string, to: string): Promise<void>;
  /** Remove a file or folder with all in it; one that is not there is no error. */
  remove(path: string): Promise<void>;
}
