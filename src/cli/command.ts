import type { NodeConfig } from "../config/mod.ts";
import type { JsonObject, JsonValue } from "../domain/mod.ts";
import type { Entropy, Files } from "../platform/mod.ts";

/** Exit code of a command that did what it was asked. */
export const DONE = 0;
/** Exit code of a command that could not do it. */
export const FAILED = 1;
/** Exit code of a command that was asked wrongly. */
export const WRONG_USAGE = 2;
/** Exit code of a node that the system denies its data folder (EX_NOPERM of sysexits.h): starting it again changes nothing. */
export const DENIED = 77;
/** Exit code of a command whose output nobody reads any more: a shell's for SIGPIPE. */
export const READER_GONE = 141;

/** What the running node answered to a command. */
export type ApiReply =
  | { readonly kind: "answered"; readonly body: JsonValue }
  | {
    readonly kind: "refused";
    readonly status: number;
    /** What the node said, or what its status means. */
    readonly message: string;
    readonly body: JsonValue | undefined;
  }
  | {
    readonly kind: "unreachable";
    /** Who was asked, what went wrong, what to do. */
    readonly message: string;
  };

/** All that commands may touch; built at the process edge, faked in tests. */
export interface CliContext {
  readonly version: string;
  readonly entropy: Entropy;
  /** Write one block of text to standard output; a line end is added. */
  stdout(text: string): void;
  /** Write one block of text to standard error; a line end is added. */
  stderr(text: string): void;
  /** What the operator configured, as `covey serve` without flags would read it. */
  nodeConfig(): Promise<
    | { readonly kind: "config"; readonly config: NodeConfig }
    | { readonly kind: "bad"; readonly line: string }
  >;
  /**
   * Show a line in place of the one shown before, or with an empty text take
   * it away; absent where standard error is no terminal.
   */
  status?(text: string): void;
  /**
   * Have Ctrl-C leave the terminal without a status, and with some words.
   *
   * @param words What becomes of the work, or null where it ends too.
   * @returns Disposed of, Ctrl-C is no matter of the command's any more.
   */
  whenLeft(words: string | null): Disposable;
  /** Wall-clock milliseconds since 1970. */
  nowMs(): number;
  /** Wait that many milliseconds. */
  sleep(ms: number): Promise<void>;
  /** Folder that the command was called in, absolute. */
  readonly workingFolder: string;
  /** What the configuration says that needs no running node: the data folder, and the licence's text or null. */
  dataFolder(): Promise<
    | {
      readonly kind: "folder";
      readonly path: string;
      readonly files: Files;
      readonly licence: string | null;
    }
    | { readonly kind: "bad"; readonly line: string }
  >;
  /** GET a path of the running node's API. */
  fetchJson(path: string): Promise<ApiReply>;
  /** Send a JSON object to a path of the running node's API. */
  postJson(
    method: "POST" | "DELETE",
    path: string,
    body: JsonObject,
  ): Promise<ApiReply>;
  /**
   * Send a JSON object to a path that answers line by line.
   *
   * @param onLine Called with each line as it comes.
   * @returns The last line, or why there was none.
   */
  postLines(
    path: string,
    body: JsonObject,
    onLine: (line: JsonObject) => void,
  ): Promise<ApiReply>;
  /**
   * Read the first line of standard input: the way for what must not stand in
   * the list of processes.
   */
  readInput(): Promise<string>;
}

/** One thing that `covey` can do. */
export interface Command {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** One line without a full stop, for the list. */
  readonly summary: string;
  /** What follows the name, for example `<id> [--json]`. */
  readonly usage: string;
  /** What `--help` says beyond usage and summary. */
  help?(): string;
  /** Left out of the list: not for people. */
  readonly hidden?: true;
  /**
   * Do it.
   *
   * @param args Arguments after the command's name.
   * @returns `DONE`, `FAILED` or `WRONG_USAGE`.
   */
  run(args: readonly string[], context: CliContext): Promise<number>;
}
