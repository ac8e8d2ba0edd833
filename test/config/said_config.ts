import assert from "node:assert/strict";
import {
  type ConfigResult,
  type NodeConfig,
  parseNodeConfig,
} from "../../src/config/mod.ts";
import { MemoryFiles } from "../../src/platform/mod.ts";

/** A secret that is strong enough. */
export const STRONG = "correct-horse-battery-staple";

/** What the three sources of settings say, and the machine. */
export interface Said {
  readonly env?: Record<string, string>;
  readonly flags?: readonly string[];
  readonly file?: string;
  readonly files?: Record<string, string>;
  readonly hostname?: string;
}

/** Parse settings on a machine of the test's. */
export function parse(said: Said = {}): Promise<ConfigResult> {
  const files = new MemoryFiles(said.files);
  return parseNodeConfig({
    env: { HOME: "/home/ada", ...said.env },
    flags: said.flags ?? [],
    file: said.file ?? null,
    readFile: (path) => files.readText(path),
    facts: {
      hostname: said.hostname ?? "ada.lan",
      platformDataDir: "/home/ada/.local/share/covey",
      cwd: "/srv",
    },
  });
}

/** Parse settings that are accepted. */
export async function ok(
  said: Said = {},
): Promise<{ config: NodeConfig; notices: readonly string[] }> {
  const result = await parse(said);
  assert.equal(result.kind, "ok", "line" in result ? result.line : "");
  assert(result.kind === "ok");
  return result;
}

/** Parse settings that are refused, and return the one line that says why. */
export async function line(said: Said): Promise<string> {
  const result = await parse(said);
  assert(result.kind === "bad", `${JSON.stringify(said)} was accepted`);
  assert(!/\p{Cc}/u.test(result.line), "more than one plain line");
  return result.line;
}
