/**
 * Builds Covey for one kind of machine: `deno task compile [--target NAME]
 * [--portable] [--out FILE]`.
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PERMISSION_FLAGS } from "./permissions.ts";
import { buildPortable } from "./portable.ts";
import { ENTRY, run, stageProgram } from "./stage.ts";
import { findTarget, hostTarget, type Target, TARGETS } from "./target.ts";

const USAGE =
  `Usage: deno task compile [--target NAME] [--portable] [--out FILE]

  --target NAME  ${
    TARGETS.map(({ name }) => name).join(", ")
  } (default: this machine)
  --portable     one self-extracting file from npm's runtime binary, where
                 deno compile finds no denort
  --out FILE     default: dist/covey-<target>, with -portable where asked for

DENORT_BIN names the denort binary of the same version and of that target.
`;

/** Build with `deno compile`. */
async function buildCompiled(
  root: string,
  target: Target,
  out: string,
): Promise<void> {
  const stage = await Deno.makeTempDir({ prefix: "covey-compile-" });
  try {
    await stageProgram(root, stage, target);
    const denort = Deno.env.get("DENORT_BIN");
    await run(
      [
        Deno.execPath(),
        "compile",
        ...PERMISSION_FLAGS,
        "--target",
        target.triple,
        // The gates check types; bundles have none.
        "--no-check",
        "--include",
        "node_modules",
        "--output",
        out,
        ENTRY,
      ],
      stage,
      denort === undefined ? {} : { DENORT_BIN: denort },
    );
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

async function main(args: readonly string[]): Promise<number> {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      options: {
        target: { type: "string" },
        portable: { type: "boolean", default: false },
        out: { type: "string" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return tell(2, `${error instanceof Error ? error.message : ""}\n${USAGE}`);
  }
  if (parsed.help) return tell(0, USAGE);
  const target = parsed.target === undefined
    ? hostTarget()
    : findTarget(parsed.target);
  if (target === undefined) {
    return tell(
      2,
      `Covey is not built for "${
        parsed.target ?? Deno.build.target
      }"\n${USAGE}`,
    );
  }
  const root = join(import.meta.dirname ?? ".", "..");
  const suffix = parsed.portable ? "-portable" : "";
  const out = parsed.out ?? join(root, `dist/covey-${target.name}${suffix}`);
  await Deno.mkdir(join(out, ".."), { recursive: true });
  const build = parsed.portable ? buildPortable : buildCompiled;
  await build(root, target, out);
  const { size } = await Deno.stat(out);
  return tell(0, `${out} (${(size / 1e6).toFixed(0)} MB)\n`);
}

function tell(code: number, text: string): number {
  const stream = code === 0 ? Deno.stdout : Deno.stderr;
  stream.writeSync(new TextEncoder().encode(text));
  return code;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
