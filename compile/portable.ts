import { join } from "node:path";
import { createHash } from "node:crypto";
import { PERMISSION_FLAGS } from "./permissions.ts";
import { run, stageProgram } from "./stage.ts";
import type { Target } from "./target.ts";

/** A code cache would cost the first start 40 MB and save later ones little. */
const RUN_FLAGS = [
  "--no-lock",
  "--cached-only",
  "--no-code-cache",
  ...PERMISSION_FLAGS,
];

/**
 * Build Covey as one self-extracting file from the runtime's own binary as npm
 * has it: for where `deno compile` finds no `denort` to build on.
 *
 * @param root The checkout.
 * @param target The machine to build for.
 * @param out Path of the file to write.
 */
export async function buildPortable(
  root: string,
  target: Target,
  out: string,
): Promise<void> {
  const work = await Deno.makeTempDir({ prefix: "covey-portable-" });
  try {
    const unpacked = join(work, "unpacked");
    await stageProgram(root, join(unpacked, "app"), target);
    await Deno.copyFile(
      await fetchRuntime(target, work),
      join(unpacked, "deno"),
    );
    await Deno.chmod(join(unpacked, "deno"), 0o755);
    const archive = join(work, "archive.tar.gz");
    await run(["tar", "-czf", archive, "-C", unpacked, "."], work);
    await writeSelfExtracting(root, archive, out);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** Where the runtime's binary for a target lies: our own, or npm's package of the same version. */
async function fetchRuntime(target: Target, work: string): Promise<string> {
  if (target.triple === Deno.build.target) return Deno.execPath();
  const name = `${target.runtimePackage}@${Deno.version.deno}`;
  await run(["npm", "pack", "--silent", name], work);
  for await (const entry of Deno.readDir(work)) {
    if (entry.name.endsWith(".tgz")) {
      await run(["tar", "-xzf", entry.name], work);
    }
  }
  return join(work, "package/deno");
}

async function writeSelfExtracting(
  root: string,
  archive: string,
  out: string,
): Promise<void> {
  const digest = createHash("sha256");
  for await (const chunk of (await Deno.open(archive)).readable) {
    digest.update(chunk);
  }
  const template = await Deno.readTextFile(
    join(root, "compile/portable_header.sh"),
  );
  const header = fillHeader(template, digest.digest("hex").slice(0, 16));
  const temporary = `${out}.tmp`;
  await Deno.writeTextFile(temporary, header, { mode: 0o755 });
  const file = await Deno.open(temporary, { append: true });
  await (await Deno.open(archive)).readable.pipeTo(file.writable);
  await Deno.chmod(temporary, 0o755);
  await Deno.rename(temporary, out);
}

/**
 * Fill the header's blanks. The header states its own length, so the length is
 * written with a fixed number of digits.
 *
 * @param template Text of `portable_header.sh`.
 * @param digest Name of the folder to unpack into.
 * @returns The header, with a final newline.
 */
export function fillHeader(template: string, digest: string): string {
  const filled = template
    .replace("@DIGEST@", digest)
    .replace(
      "@FLAGS@",
      RUN_FLAGS.join(" "),
    );
  const width = "@HEADER_BYTES@".length;
  const length = new TextEncoder().encode(filled).length;
  // Octal is what a shell makes of leading zeros, so the blank is filled up with spaces.
  return filled.replace("@HEADER_BYTES@", String(length).padEnd(width));
}
