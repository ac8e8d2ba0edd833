import { join } from "node:path";

const ROOT = join(import.meta.dirname ?? ".", "../..");

/** What a node of a test needs to run under a licence that the test issued. */
export interface Licensed {
  /** Command line before `serve`. */
  readonly command: readonly string[];
  /** The issuer's key, for each node. */
  readonly env: Readonly<Record<string, string>>;
  /** The licence, as COVEY_LICENCE of one node or more. */
  readonly licence: string;
}

/**
 * Make an issuer and have it issue a licence, by the tasks that an operator
 * would use.
 *
 * @param folder Where the private key lies until the test ends.
 * @param nodes How many nodes it allows: a number, or "unlimited".
 */
export async function issueForTest(
  folder: string,
  nodes: string,
): Promise<Licensed> {
  const key = join(folder, `issuer-${crypto.randomUUID()}.pem`);
  const publicKey = await run("scripts/licence/make_key.ts", key);
  const licence = await run(
    "scripts/licence/issue.ts",
    ...["--key", key, "--id", "L-test", "--holder", "Tests", "--nodes", nodes],
  );
  return {
    command: [
      Deno.execPath(),
      "run",
      "--no-prompt",
      "--allow-all",
      join(ROOT, "scripts/lab/licensed_main.ts"),
    ],
    env: { TEST_LICENCE_KEY: publicKey },
    licence,
  };
}

async function run(script: string, ...args: string[]): Promise<string> {
  const { code, stderr, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "-A", join(ROOT, script), ...args],
  }).output();
  const decoder = new TextDecoder();
  if (code !== 0) throw new Error(`${script}: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout).trim();
}
