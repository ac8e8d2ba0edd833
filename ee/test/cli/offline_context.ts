import type { CliContext } from "@covey/core/cli";
import {
  createSeededEntropy,
  type Files,
  MemoryFiles,
} from "@covey/core/platform";

/** A context that keeps what was printed, of a machine on which no node answers. */
export interface OfflineContext extends CliContext {
  readonly out: string[];
  readonly err: string[];
}

/**
 * Make one.
 *
 * @param options What lies on disk (the data folder is `/data`), and what COVEY_LICENCE holds.
 */
export function createOfflineContext(
  { files = new MemoryFiles(), licence = null }: {
    readonly files?: Files;
    readonly licence?: string | null;
  } = {},
): OfflineContext {
  const out: string[] = [];
  const err: string[] = [];
  const nobody = () =>
    Promise.resolve({ kind: "unreachable", message: "No node" } as const);
  return {
    out,
    err,
    version: "1.2.3",
    entropy: createSeededEntropy(7),
    stdout: (text) => void out.push(text),
    stderr: (text) => void err.push(text),
    nodeConfig: () =>
      Promise.resolve({ kind: "bad", line: "Nothing is configured" }),
    whenLeft: () => ({ [Symbol.dispose]() {} }),
    nowMs: () => 0,
    sleep: () => Promise.resolve(),
    workingFolder: "/home/ada",
    dataFolder: () =>
      Promise.resolve({ kind: "folder", path: "/data", files, licence }),
    readInput: () => Promise.resolve(""),
    fetchJson: nobody,
    postJson: nobody,
    postLines: nobody,
  };
}
