import { join } from "node:path";
import type { Target } from "./target.ts";

/** Imports that only tests and benchmarks use; they stay out of what ships. */
const DEVELOPMENT_IMPORTS = ["fast-check", "openai", "@types/node"];

/** What ships, relative to the checkout. */
const SHIPPED = [
  "mod.ts",
  "src",
  "package.json",
  "deno.lock",
  "LICENSE",
  "ee/mod.ts",
  "ee/main.ts",
  "ee/src",
  "ee/LICENSE",
];

/**
 * Lay out a folder that holds the program's sources and nothing else, with the
 * packages of one target alone: what a build embeds is what lies here.
 *
 * @param root The checkout.
 * @param stage The folder to make; it must be empty.
 * @param target Whose packages to install.
 */
export async function stageSources(
  root: string,
  stage: string,
  target: Target,
): Promise<void> {
  await Deno.mkdir(join(stage, "ee"), { recursive: true });
  for (const path of SHIPPED) await copy(join(root, path), join(stage, path));
  for (const file of ["deno.json", "ee/deno.json"]) {
    const config = JSON.parse(await Deno.readTextFile(join(root, file)));
    for (const name of DEVELOPMENT_IMPORTS) delete config.imports?.[name];
    for (const key of ["tasks", "lint", "fmt", "test"]) delete config[key];
    await Deno.writeTextFile(join(stage, file), JSON.stringify(config));
  }
  const { os, arch } = target.npm;
  await run([
    Deno.execPath(),
    "install",
    "--quiet",
    "--os",
    os,
    "--arch",
    arch,
    "--entrypoint",
    "ee/main.ts",
  ], stage);
  await keepEngineOf(target, stage);
  await useInstalledPackages(join(stage, "deno.json"));
}

/**
 * Have the staged program take its packages from its own folder as they lie
 * there: without this, the runtime would install again what was taken out, and
 * look in its cache what a registry said.
 */
async function useInstalledPackages(path: string): Promise<void> {
  const config = JSON.parse(await Deno.readTextFile(path));
  config.nodeModulesDir = "manual";
  await Deno.writeTextFile(path, JSON.stringify(config));
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

async function copy(from: string, to: string): Promise<void> {
  const info = await Deno.stat(from);
  if (info.isFile) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    await copy(join(from, name), join(to, name));
  }
}
