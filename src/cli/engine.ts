import { Fault, type PackView } from "../domain/mod.ts";
import { FileError } from "../platform/mod.ts";
import { sayUsage } from "./ask.ts";
import { type CliContext, type Command, DONE, FAILED } from "./command.ts";
import { ENGINE_HEAD } from "./engine_head.ts";
import { formatPacks, packHolders } from "./engine_list.ts";
import { readFlags } from "./flags.ts";
import { ProgressTeller } from "./progress.ts";

const USAGE = `engine ${ENGINE_HEAD.usage}`;
/** What the node starts an engine process with; no person does. */
const HOST_FLAG = /^--(?:model|server)$/;

/** The packs of this machine, with the npm registry as where they come from. */
export interface LocalPacks {
  /** Every pack. */
  list(): Promise<readonly PackView[]>;
  /** Fetch one; throws a `Fault` or a `FileError` where that fails. */
  add(
    name: string,
    onBytes: (doneBytes: number, totalBytes: number) => void,
    signal: AbortSignal,
  ): Promise<PackView>;
  /** Remove one. */
  remove(name: string): Promise<void>;
}

/**
 * Make the command that adds GPU libraries, and runs the engine process itself:
 * the program starts itself again under this name, with flags of its own.
 *
 * @param openPacks Opens the packs of a data folder.
 * @param runHost Is the engine process.
 * @returns The command.
 */
export function engineCommand(
  openPacks: (dataDir: string) => Promise<LocalPacks>,
  runHost: (args: readonly string[]) => Promise<number>,
): Command {
  return {
    ...ENGINE_HEAD,
    run(args, context) {
      return HOST_FLAG.test(args[0] ?? "")
        ? runHost(args)
        : runPacks(args, context, openPacks);
    },
  };
}

/** What is asked for. */
type Asked =
  & { readonly json: boolean }
  & (
    | { readonly verb: "list" }
    | {
      readonly verb: "add";
      readonly name: string;
      readonly from: string | null;
    }
    | { readonly verb: "remove"; readonly name: string }
  );

async function runPacks(
  args: readonly string[],
  context: CliContext,
  openPacks: (dataDir: string) => Promise<LocalPacks>,
): Promise<number> {
  const asked = read(args);
  if (typeof asked === "string") return sayUsage(asked, USAGE, context);
  const folder = await context.dataFolder();
  if (folder.kind === "bad") {
    context.stderr(folder.line);
    return FAILED;
  }
  const packs = await openPacks(folder.path);
  try {
    const done = await act(asked, packs, context);
    context.stdout(asked.json ? JSON.stringify(done.value) : done.text);
    return DONE;
  } catch (error) {
    if (!(error instanceof Fault || error instanceof FileError)) throw error;
    context.stderr(error.message);
    return FAILED;
  }
}

function read(args: readonly string[]): Asked | string {
  const given = readFlags(args, { values: ["from"] });
  if (given.kind === "wrong") return given.message;
  const { json, words } = given;
  const from = given.values.get("from") ?? null;
  const [verb, name, ...more] = words;
  if (verb !== "list" && verb !== "add" && verb !== "remove") {
    return "Say list, add or remove";
  }
  if (from !== null && verb !== "add") return "--from goes with add alone";
  if (verb === "list") {
    return name === undefined ? { verb, json } : "list takes no name";
  }
  if (name === undefined) return "The name is missing";
  if (more.length > 0) return "Give one name";
  return verb === "add" ? { verb, name, from, json } : { verb, name, json };
}

/** What was done, for programs and for people. */
interface Done {
  readonly value: unknown;
  readonly text: string;
}

async function act(
  asked: Asked,
  packs: LocalPacks,
  context: CliContext,
): Promise<Done> {
  switch (asked.verb) {
    case "list": {
      const list = await packs.list();
      const holders = packHolders(await context.fetchJson("/covey/packs"));
      const all = list.map((pack) => ({
        ...pack,
        members: holders.get(pack.name) ?? [],
      }));
      return { value: { packs: all }, text: formatPacks(all) };
    }
    case "add":
      return await add(asked.name, asked.from, packs, context);
    case "remove": {
      const { name } = asked;
      const wasHere = (await packs.list()).some((pack) =>
        pack.name === name && pack.state === "installed"
      );
      await packs.remove(name);
      return {
        value: { removed: wasHere ? name : null },
        text: wasHere
          ? `Removed ${name}: models that are loaded keep it until they leave`
          : `${name} is not installed here`,
      };
    }
    default:
      return asked satisfies never;
  }
}

async function add(
  name: string,
  from: string | null,
  packs: LocalPacks,
  context: CliContext,
): Promise<Done> {
  using teller = new ProgressTeller(context, null);
  const tell = (doneBytes: number, totalBytes: number, member?: string) =>
    teller.tell({
      what: `fetching ${name}`,
      doneBytes,
      totalBytes,
      bytesPerSecond: null,
      remainingMs: null,
      from: member === undefined ? [] : [member],
    });
  if (from !== null) return await addFromMembers(name, from, tell, context);
  try {
    const added = await packs.add(name, tell, new AbortController().signal);
    return { value: added, text: textOf(name, null) };
  } catch (error) {
    // What members can do nothing about they are not asked for.
    if (!(error instanceof Fault) || error.code !== "hub_failed") throw error;
    try {
      return await addFromMembers(name, null, tell, context);
    } catch (other) {
      if (!(other instanceof Fault)) throw other;
      throw new Fault("hub_failed", `${error.message}. ${other.message}`);
    }
  }
}

/** Have the node that runs here ask the members: they know nobody else. */
async function addFromMembers(
  name: string,
  from: string | null,
  tell: (doneBytes: number, totalBytes: number, member?: string) => void,
  context: CliContext,
): Promise<Done> {
  const reply = await context.postLines(
    `/covey/packs/${encodeURIComponent(name)}`,
    from === null ? {} : { from },
    ({ doneBytes, member, totalBytes }) => {
      if (typeof doneBytes !== "number" || typeof totalBytes !== "number") {
        return;
      }
      tell(doneBytes, totalBytes, typeof member === "string" ? member : "");
    },
  );
  if (reply.kind !== "answered") {
    throw new Fault(
      "link_failed",
      reply.kind === "unreachable"
        ? `Failed to ask the members: ${reply.message}`
        : reply.message,
    );
  }
  const { body } = reply;
  const giver = typeof body === "object" && body !== null && "from" in body &&
      typeof body["from"] === "string"
    ? body["from"]
    : null;
  return { value: body, text: textOf(name, giver) };
}

function textOf(name: string, from: string | null): string {
  return `Added ${name}${
    from === null ? "" : ` from ${from}`
  }: the next model that is loaded uses it`;
}
