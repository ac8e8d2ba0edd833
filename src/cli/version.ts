import { readArguments } from "./arguments.ts";
import { sayUsage } from "./ask.ts";
import { type Command, DONE } from "./command.ts";

/** `covey version`. */
export const versionCommand: Command = {
  name: "version",
  summary: "Print the version of this program",
  usage: "[--json]",
  // deno-lint-ignore require-await -- every command is asynchronous to its caller
  async run(args, context) {
    const given = readArguments(args);
    if (given.kind === "wrong") {
      return sayUsage(given.message, "version [--json]", context);
    }
    const { version } = context;
    context.stdout(
      given.json ? JSON.stringify({ version }) : `covey ${version}`,
    );
    return DONE;
  },
};
