import { escapeUnprintable, nearestName } from "../domain/mod.ts";
import {
  type CliContext,
  type Command,
  DONE,
  FAILED,
  READER_GONE,
  WRONG_USAGE,
} from "./command.ts";
import { formatTable } from "./table.ts";

/** Commands that Covey is to have; those not registered yet say so by name. */
const PLANNED: readonly string[] = [
  "add",
  "bench",
  "copy",
  "doctor",
  "door",
  "drain",
  "engine",
  "fit",
  "invite",
  "join",
  "leave",
  "licence",
  "license",
  "logs",
  "ps",
  "remove",
  "run",
  "serve",
  "service",
  "sync",
  "undrain",
  "uninstall",
  "unload",
  "upgrade",
];

/** What does the same until then. */
const INSTEAD: Readonly<Record<string, string>> = {
  logs:
    "a node writes its log to standard error, which its service keeps (`journalctl`)",
  run:
    "any client of OpenAI, Anthropic or Ollama talks to the node, such as `OLLAMA_HOST=http://127.0.0.1:11411 ollama run MODEL`",
};

/**
 * Run one command line.
 *
 * @param commands Those that exist.
 * @param args Arguments of the process.
 * @param context What commands may touch.
 * @returns The process's exit code: 0 done, 1 failed, 2 wrong usage, or
 * another that the command has.
 */
export async function runCli(
  commands: readonly Command[],
  args: readonly string[],
  context: CliContext,
): Promise<number> {
  try {
    return await runNamed(commands, args, context);
  } catch (error) {
    if (isReaderGone(error)) return READER_GONE;
    throw error;
  }
}

/** Whether who read the output has read enough, as `head` does. */
function isReaderGone(error: unknown): boolean {
  return error instanceof Error && error.name === "BrokenPipe";
}

async function runNamed(
  commands: readonly Command[],
  args: readonly string[],
  context: CliContext,
): Promise<number> {
  const [word, ...rest] = args;
  if (word === undefined || word === "--help" || word === "-h") {
    context.stdout(overview(commands, context.version));
    return DONE;
  }
  if (word === "help") return runHelp(commands, rest, context);
  const name = /^(?:--version|-v|-V)$/.test(word) ? "version" : word;
  const command = find(commands, name);
  if (command === undefined) return refuseName(commands, word, context);
  if (rest.some((one) => one === "--help" || one === "-h")) {
    context.stdout(helpOf(command));
    return DONE;
  }
  try {
    return await command.run(rest, context);
  } catch (error) {
    if (isReaderGone(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    context.stderr(`covey ${command.name} failed: ${reason}`);
    return FAILED;
  }
}

function runHelp(
  commands: readonly Command[],
  rest: readonly string[],
  context: CliContext,
): number {
  const [topic] = rest.filter((word) => word !== "--json");
  if (topic !== undefined && !topic.startsWith("-")) {
    const command = find(commands, topic);
    if (command === undefined) return refuseName(commands, topic, context);
    context.stdout(helpOf(command));
    return DONE;
  }
  if (rest.includes("--json")) {
    const list = listed(commands).map(({ name, usage, summary }) => ({
      name,
      usage,
      summary,
    }));
    context.stdout(
      JSON.stringify({ version: context.version, commands: list }),
    );
  } else context.stdout(overview(commands, context.version));
  return DONE;
}

function refuseName(
  commands: readonly Command[],
  word: string,
  context: CliContext,
): number {
  const name = escapeUnprintable(word.slice(0, 64));
  if (PLANNED.includes(word)) {
    const instead = INSTEAD[word];
    context.stderr(
      `covey ${name} is not part of this build yet${
        instead === undefined ? "" : `; ${instead}`
      }`,
    );
    return FAILED;
  }
  const near = nearestName(word, [
    ...listed(commands).flatMap((one) => [one.name, ...one.aliases ?? []]),
    ...PLANNED,
  ]);
  const hint = near === undefined
    ? "`covey help` lists what there is"
    : `did you mean \`covey ${near}\`?`;
  context.stderr(`covey has no command "${name}"; ${hint}`);
  return WRONG_USAGE;
}

function find(
  commands: readonly Command[],
  name: string,
): Command | undefined {
  return commands.find((one) =>
    one.name === name || one.aliases?.includes(name)
  );
}

function listed(commands: readonly Command[]): readonly Command[] {
  return commands.filter(({ hidden }) => !hidden);
}

function overview(commands: readonly Command[], version: string): string {
  const rows = listed(commands).map(({ name, summary }) => [
    `  ${name}`,
    summary,
  ]);
  return [
    `Covey ${version}: machines that share a secret become one pool for language models`,
    "",
    formatTable(rows),
    "",
    "`covey <command> --help` tells more; most take --json.",
  ].join("\n");
}

function helpOf(command: Command): string {
  const more = command.help?.();
  return [
    `Usage: covey ${`${command.name} ${command.usage}`.trim()}`,
    "",
    `${command.summary}.`,
    ...(command.aliases ? [`Also: ${command.aliases.join(", ")}.`] : []),
    ...(more === undefined ? [] : ["", more]),
  ].join("\n");
}
