import {
  type CliContext,
  type Command,
  DONE,
  FAILED,
  readArguments,
  sayUsage,
} from "@covey/core/cli";
import { LOCK_FILE } from "@covey/core/domain";

const USAGE = "identity reset --yes [--json]";

/** `covey identity`: make this host a new node after its disk was copied. */
export const identityCommand: Command = {
  name: "identity",
  summary: "Put this node's identity aside: its next start makes a new member",
  usage: "reset --yes [--json]",
  help: () =>
    "For a host whose disk was copied from another one, while no node runs on the data folder.\n" +
    "Nothing is deleted: the old identity and member tables lie in a folder beside the new ones.\n" +
    "With the cluster's secret the host joins again by itself, else it needs an invitation.",
  async run(args, context) {
    const words = args.filter((arg) => arg !== "--yes");
    const read = readArguments(words, ["action"]);
    if (read.kind === "wrong") return sayUsage(read.message, USAGE, context);
    if (read.words[0] !== "reset") {
      return sayUsage("The action is reset", USAGE, context);
    }
    if (!args.includes("--yes")) {
      return sayUsage(
        "The members of its cluster will no more know this host; say --yes if that is meant",
        USAGE,
        context,
      );
    }
    return await reset(context, read.json);
  },
};

async function reset(context: CliContext, json: boolean): Promise<number> {
  const folder = await context.dataFolder();
  if (folder.kind === "bad") {
    context.stderr(folder.line);
    return FAILED;
  }
  const { files, path } = folder;
  // Makes nothing where there is no node: a wrong path is not a new node.
  await files.list(path);
  using lock = await files.lock(`${path}/${LOCK_FILE}`);
  if (lock === null) {
    context.stderr(
      `A node runs on "${path}"; stop it first (Ctrl-C where \`covey serve\` runs, or stop its service)`,
    );
    return FAILED;
  }
  const { setIdentityAside } = await import("../identity/set_aside.ts");
  const aside = await setIdentityAside(files, path);
  context.stdout(
    json
      ? JSON.stringify({ reset: true, aside })
      : `This host is a new node from its next start on; its old identity is in "${aside}"`,
  );
  return DONE;
}
