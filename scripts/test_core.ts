/**
 * Runs the core's tests in a copy of the checkout without ee/: the open node
 * must be whole by itself.
 *
 * @module
 */
import { join } from "node:path";

const root = join(import.meta.dirname ?? ".", "..");
const LEFT_OUT = new Set([".git", "ee", "node_modules", "dist", "coverage"]);

async function copy(from: string, to: string): Promise<void> {
  const info = await Deno.stat(from);
  if (info.isFile) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    if (name === "node_modules") continue;
    await copy(join(from, name), join(to, name));
  }
}

const work = await Deno.makeTempDir({ prefix: "covey-core-" });
try {
  for await (const { name } of Deno.readDir(root)) {
    if (!LEFT_OUT.has(name)) await copy(join(root, name), join(work, name));
  }
  const { code } = await new Deno.Command(Deno.execPath(), {
    // Without ee/ the lock file holds packages that nothing asks for any more.
    args: ["test", "--no-prompt", "-A", "--no-lock", "test/", ...Deno.args],
    cwd: work,
    stdin: "null",
  }).spawn().status;
  Deno.exitCode = code;
} finally {
  await Deno.remove(work, { recursive: true });
}
