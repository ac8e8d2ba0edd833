import {
  type CliContext,
  type Command,
  readFlags,
  sayUsage,
} from "@covey/core/cli";
import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
} from "@covey/core/domain";
import { askAction } from "./ask_action.ts";

const USAGE = "[TOKEN | --code CODE --at HOST[:PORT]] [--json]";

/** `covey join`. */
export const joinCommand: Command = {
  name: "join",
  summary: "Join a cluster with a token or code that a member issued",
  usage: USAGE,
  help: () =>
    "Without a token, or with -, it is read from standard input, so that it does\nnot stand in the list of processes. The same goes for --code -.",
  async run(args, context) {
    const given = readFlags(args, { values: ["code", "at"] });
    const usage = (message: string) =>
      sayUsage(message, `join ${USAGE}`, context);
    if (given.kind === "wrong") return usage(given.message);
    const { json, values, words } = given;
    const code = values.get("code");
    const at = values.get("at");
    if (code === undefined && at !== undefined) {
      return usage("--at goes with --code; a token names its issuer itself");
    }
    if (code !== undefined && at === undefined) {
      return usage("--code needs --at, the address of the node that issued it");
    }
    if (code !== undefined && words.length > 0) {
      return usage("It takes either a token or a code");
    }
    // A token that was pasted with its line breaks comes as several words.
    const token = words.join("");
    const body = code === undefined
      ? { token: await typed(token === "" ? "-" : token, "token", context) }
      : { code: await typed(code, "code", context), at: at ?? "" };
    return await askAction({
      method: "POST",
      path: "/cluster/join",
      body,
      json,
      show: formatJoined,
    }, context);
  },
};

async function typed(
  given: string,
  what: string,
  context: CliContext,
): Promise<string> {
  if (given !== "-") return given;
  context.stderr(`Paste the ${what} and press Enter:`);
  return await context.readInput();
}

function formatJoined({ by, cluster }: JsonObject): string | null {
  if (typeof by !== "string" || !isJsonObject(cluster)) return null;
  return escapeUnprintable(
    `This node is a member now, let in by ${by} (cluster ${
      String(cluster.id)
    })`,
  );
}
