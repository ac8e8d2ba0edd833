import { join } from "node:path";
import { bundleArguments, KEPT_PACKAGES } from "./bundle.ts";
import type { Target } from "./target.ts";

/** Licences that go where the program goes. */
const LICENCES = ["LICENSE", "ee/LICENSE"];

/** Name of the program's first module in a staged folder. */
export const ENTRY = "main.js";

/**
 * Lay out a folder that holds the program and nothing else: its modules as few
 * bundles, loaded on first use as in the sources, and beside them the packages
 * of one target alone. What a build embeds is what lies here. Bundles start
 * faster than sources and take about 15 MB less memory.
 *
 * @param root The checkout.
 * @param stage The folder to make; it must be empty.
 * @param target Whose packages to install.
 */
export async function stageProgram(
  root: string,
  stage: string,
  target: Target,
): Promise<void> {
  await Deno.mkdir(join(stage, "ee"), { recursive: true });
  await run([Deno.execPath(), ...bundleArguments("ee/main.ts", stage)], root);
  for (const path of LICENCES) {
    await Deno.copyFile(join(root, path), join(stage, path));
  }
  await describePackages(root, stage);
  await writeConfig(root, stage, "auto");
  const { os, arch } = target.npm;
  await run(
    [Deno.execPath(), "install", "--quiet", "--os", os, "--arch", arch],
    stage,
  );
  await keepEngineOf(target, stage);
  // From here on the packages are taken as they lie there: the runtime would
  // install again what was taken out, and ask its cache what a registry said.
  await writeConfig(root, stage, "manual");
}

/** Write the staged folder's own package.json: the kept packages, as pinned in the checkout. */
async function describePackages(root: string, stage: string): Promise<void> {
  const { imports } = await readJson(join(root, "deno.json"));
  const { overrides } = await readJson(join(root, "package.json"));
  const dependencies = Object.fromEntries(
    KEPT_PACKAGES.map((name) => [
      name,
      String(imports[name]).slice(`npm:${name}@`.length),
    ]),
  );
  await Deno.writeTextFile(
    join(stage, "package.json"),
    JSON.stringify({ private: true, dependencies, overrides }),
  );
}

async function writeConfig(
  root: string,
  stage: string,
  nodeModulesDir: "auto" | "manual",
): Promise<void> {
  const { unstable } = await readJson(join(root, "deno.json"));
  await Deno.writeTextFile(
    join(stage, "deno.json"),
    JSON.stringify({ nodeModulesDir, unstable }),
  );
}

/**
 * Take the llama.cpp libraries of other machines out of a staged folder.
 *
 * @throws {Error} When the target's own library was not installed.
 */
async function keepEngineOf(target: Target, stage: string): Promise<void> {
  const store = join(stage, "node_modules/.deno");
  let kept = false;
  for await (const { name } of Deno.readDir(store)) {
    const engine = /^@node-llama-cpp\+([a-z0-9-]+)@/.exec(name)?.[1];
    if (engine === undefined) continue;
    if (engine === target.enginePackage) kept = true;
    else await Deno.remove(join(store, name), { recursive: true });
  }
  if (!kept) {
    throw new Error(
      `Failed to stage ${target.name}: the package @node-llama-cpp/${target.enginePackage} was not installed; build on that kind of machine`,
    );
  }
}

/**
 * Run a program to its end.
 *
 * @param command Program and arguments.
 * @param cwd Folder to run it in.
 * @param env Variables added to this process's own.
 * @throws {Error} When it exits with another code than 0; its output is in the message.
 */
export async function run(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const [program = "", ...args] = command;
  const output = await new Deno.Command(program, {
    args,
    cwd,
    env: { ...env },
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(output.stdout);
  if (output.success) return text;
  throw new Error(
    `"${command.join(" ")}" failed with exit code ${output.code}:\n${text}${
      new TextDecoder().decode(output.stderr)
    }`,
  );
}

// deno-lint-ignore no-explicit-any -- the checkout's own files, whose shape this script shares
async function readJson(path: string): Promise<any> {
  return JSON.parse(await Deno.readTextFile(path));
}
