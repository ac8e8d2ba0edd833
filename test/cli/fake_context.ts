import type { ApiReply, CliContext } from "../../src/cli/mod.ts";
import { createSeededEntropy } from "../../src/platform/mod.ts";

/** A context that keeps what was printed and answers from a table of paths. */
export interface FakeContext extends CliContext {
  readonly out: string[];
  readonly err: string[];
  readonly asked: string[];
}

/**
 * Make a context without a terminal or a node.
 *
 * @param replies Answers by path; any other path is unreachable.
 */
export function createFakeContext(
  replies: Readonly<Record<string, ApiReply>> = {},
): FakeContext {
  const out: string[] = [];
  const err: string[] = [];
  const asked: string[] = [];
  return {
    out,
    err,
    asked,
    version: "1.2.3",
    entropy: createSeededEntropy(7),
    stdout: (text) => void out.push(text),
    stderr: (text) => void err.push(text),
    fetchJson(path) {
      asked.push(path);
      return Promise.resolve(
        replies[path] ?? { kind: "unreachable", message: "No node answers" },
      );
    },
  };
}
