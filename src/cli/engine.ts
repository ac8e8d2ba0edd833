import { Fault } from "../domain/mod.ts";
import type { EnginePacks, PackView } from "../engines/packs/engine_packs.ts";
import { FileError } from "../platform/mod.ts";
import { readArguments } from "./arguments.ts";
import { sayUsage } from "./ask.ts";
import { type CliContext, type Command, DONE, FAILED } from "./command.ts";
import { ProgressTeller } from "./progress.ts";
import { formatTable } from "./table.ts";

const USAGE = "engine list | add NAME | remove NAME [--json]";
const STATES: Readonly<Record<PackView["state"], string>> = {
  installed: "installed",
  available: "available",
  other_machine: "for other machines",
};

/** What the command needs of packs. */
export type Packs = Pick<EnginePacks, "add" | "list" | "remove">;

/**
 * Make the command that adds GPU libraries, and runs the engine process itself:
 * the program starts itself again under this name, with flags alone.
 *
 * @param openPacks Opens the packs of a data folder.
 * @param runHost Is the engine process.
 * @returns The command.
 */
export function engineCommand(
  openPacks: (dataDir: string) => Promise<Packs>,
  runHost: (args: readonly string[]) => Promise<number>,
): Command {
  return {
    name: "engine",
    summary: "List, add and remove GPU libraries for llama.cpp",
    usage: USAGE.slice("engine ".length),
    help: () =>
      [
        "What a GPU needs is not in the program: vulkan (27 MB) for most cards, cuda",
        "(320 MB) for NVIDIA's. add fetches what was published with this release from the",
        "npm registry of NPM_CONFIG_REGISTRY, else the one npm uses here, and holds it against its digest.",
        "The next model that is loaded uses it; `covey unload MODEL` has one loaded anew.",
      ].join("\n"),
    run(args, context) {
      return args[0]?.startsWith("--") && args[0] !== "--json"
        ? runHost(args)
        : runPacks(args, context, openPacks);
    },
  };
}

async function runPacks(
  args: readonly string[],
  context: CliContext,
  openPacks: (dataDir: string) => Promise<Packs>,
): Promise<number> {
  const [verb = "", ...rest] = args;
  if (verb !== "list" && verb !== "add" && verb !== "remove") {
    return sayUsage("Say list, add or remove", USAGE, context);
  }
  const given = readArguments(rest, verb === "list" ? [] : ["name"]);
  if (given.kind === "wrong") return sayUsage(given.message, USAGE, context);
  const folder = await context.dataFolder();
  if (folder.kind === "bad") {
    context.stderr(folder.line);
    return FAILED;
  }
  const packs = await openPacks(folder.path);
  const [name = ""] = given.words;
  try {
    const done = await act(verb, name, packs, context);
    context.stdout(given.json ? JSON.stringify(done.value) : done.text);
    return DONE;
  } catch (error) {
    if (!(error instanceof Fault || error instanceof FileError)) throw error;
    context.stderr(error.message);
    return FAILED;
  }
}

/** What was done, for programs and for people. */
interface Done {
  readonly value: unknown;
  readonly text: string;
}

async function act(
  verb: "list" | "add" | "remove",
  name: string,
  packs: Packs,
  context: CliContext,
): Promise<Done> {
  switch (verb) {
    case "list": {
      const list = await packs.list();
      return { value: { packs: list }, text: formatPacks(list) };
    }
    case "add": {
      using teller = new ProgressTeller(context);
      const added = await packs.add(
        name,
        (doneBytes, totalBytes) =>
          teller.tell({
            what: `fetching ${name}`,
            doneBytes,
            totalBytes,
            bytesPerSecond: null,
            remainingMs: null,
            from: [],
          }),
        new AbortController().signal,
      );
      return {
        value: added,
        text: `Added ${name}: the next model that is loaded uses it`,
      };
    }
    case "remove":
      await packs.remove(name);
      return {
        value: { removed: name },
        text:
          `Removed ${name}: models that are loaded keep it until they leave`,
      };
    default:
      return verb satisfies never;
  }
}

function formatPacks(packs: readonly PackView[]): string {
  const rows = packs.map(({ cards, name, sizeBytes, state }) => [
    name,
    STATES[state],
    `${Math.round(sizeBytes / 1e6)} MB`,
    cards,
  ]);
  return formatTable([["PACK", "STATE", "SIZE", "FOR"], ...rows], [2]);
}
