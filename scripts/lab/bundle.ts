import { bundleArguments } from "../../compile/bundle.ts";
import { FROM_SOURCE } from "./node_process.ts";

/**
 * Bundle the checkout's program as the builds do.
 *
 * @param folder Where the bundles go.
 * @returns The command line that runs them, before `serve`.
 * @throws {Error} What the runtime said when it could not.
 */
export async function bundleProgram(folder: string): Promise<string[]> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: bundleArguments(FROM_SOURCE.at(-1) ?? "", folder),
    stdin: "null",
  }).output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
  return [
    Deno.execPath(),
    "run",
    "--no-prompt",
    "--no-config",
    "--no-code-cache",
    "-A",
    `${folder}/main.js`,
  ];
}
