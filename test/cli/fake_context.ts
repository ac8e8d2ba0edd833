import { isJsonObject, type JsonObject } from "../../src/domain/mod.ts";
import type { ApiReply, CliContext } from "../../src/cli/mod.ts";
import {
  createSeededEntropy,
  type Files,
  MemoryFiles,
} from "../../src/platform/mod.ts";

/** A context that keeps what was printed and answers from a table of paths. */
export interface FakeContext extends CliContext {
  readonly out: string[];
  readonly err: string[];
  readonly asked: string[];
  readonly sent: { readonly path: string; readonly body: JsonObject }[];
  /** What Ctrl-C would have said while something was asked for. */
  readonly parting: (string | null)[];
}

/**
 * Make a context without a terminal or a node.
 *
 * @param replies Answers by path, or by method and path for what is sent; any other path is unreachable.
 * @param input What is typed.
 * @param files What lies on disk; the data folder is `/data`.
 * @param progress Lines that come before the answer to `postLines`.
 */
export function createFakeContext(
  replies: Readonly<Record<string, ApiReply>> = {},
  input = "",
  files: Files = new MemoryFiles(),
  progress: readonly JsonObject[] = [],
): FakeContext {
  const out: string[] = [];
  const err: string[] = [];
  const asked: string[] = [];
  const sent: FakeContext["sent"] = [];
  const parting: FakeContext["parting"] = [];
  let words: string | null = null;
  const reply = (path: string): Promise<ApiReply> =>
    Promise.resolve(
      replies[path] ?? { kind: "unreachable", message: "No node answers" },
    );
  return {
    out,
    err,
    asked,
    sent,
    parting,
    version: "1.2.3",
    entropy: createSeededEntropy(7),
    stdout: (text) => void out.push(text),
    stderr: (text) => void err.push(text),
    fetchJson(path) {
      asked.push(path);
      return reply(path);
    },
    postJson(method, path, body) {
      sent.push({ path: `${method} ${path}`, body });
      return reply(`${method} ${path}`);
    },
    async postLines(path, body, onLine) {
      sent.push({ path: `POST ${path}`, body });
      parting.push(words);
      for (const line of progress) onLine(line);
      const last = await reply(`POST ${path}`);
      if (last.kind === "answered" && isJsonObject(last.body)) {
        onLine(last.body);
      }
      return last;
    },
    nodeConfig: () =>
      Promise.resolve({ kind: "bad", line: "Nothing is configured" }),
    whenLeft(said) {
      words = said;
      return { [Symbol.dispose]: () => void (words = null) };
    },
    nowMs: () => 0,
    sleep: () => Promise.resolve(),
    workingFolder: "/home/ada",
    dataFolder: () =>
      Promise.resolve({ kind: "folder", path: "/data", files, licence: null }),
    readInput: () => Promise.resolve(input),
  };
}
