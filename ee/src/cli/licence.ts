import {
  type CliContext,
  type Command,
  DONE,
  FAILED,
  readArguments,
  sayUsage,
} from "@covey/core/cli";
import { escapeUnprintable } from "@covey/core/domain";
import { LICENCE_KEYS } from "../licence/licence_keys.ts";

const USAGE = "licence show [--json]";

/**
 * Make `covey licence`: say what the configured licence is worth, offline.
 *
 * @param publicKeys Keys of the issuers.
 */
export function createLicenceCommand(
  publicKeys: readonly string[] = LICENCE_KEYS,
): Command {
  return {
    name: "licence",
    aliases: ["license"],
    summary: "Show the licence in COVEY_LICENCE and whether it counts",
    usage: "show [--json]",
    help: () =>
      "A licence is a text, or a file that COVEY_LICENCE names; it is checked on this machine alone.\n" +
      "Without one a cluster has 2 seats. A seat once given stays, also when the licence ends.",
    async run(args, context) {
      const wanted = args.filter((arg) => arg !== "--json").length === 0
        ? ["show", ...args]
        : args;
      const read = readArguments(wanted, ["action"]);
      if (read.kind === "wrong") return sayUsage(read.message, USAGE, context);
      if (read.words[0] !== "show") {
        return sayUsage("The action is show", USAGE, context);
      }
      return await show(context, publicKeys, read.json);
    },
  };
}

async function show(
  context: CliContext,
  publicKeys: readonly string[],
  json: boolean,
): Promise<number> {
  const configured = await context.dataFolder();
  if (configured.kind === "bad") {
    context.stderr(configured.line);
    return FAILED;
  }
  const say = (body: Record<string, unknown>, text: string) =>
    context.stdout(json ? JSON.stringify(body) : text);
  if (configured.licence === null) {
    say(
      { licence: null },
      "No licence: COVEY_LICENCE is unset, and a cluster has the community's 2 seats",
    );
    return DONE;
  }
  const { checkLicence, isOver } = await import("../licence/licence.ts");
  const result = await checkLicence(configured.licence, publicKeys);
  if (result.kind === "bad") {
    context.stderr(`COVEY_LICENCE is not accepted: ${result.problem}`);
    return FAILED;
  }
  const { licence } = result;
  const over = isOver(licence, context.nowMs());
  const until = licence.notAfterMs === null
    ? null
    : new Date(licence.notAfterMs).toISOString().slice(0, 10);
  const nodes = licence.maxClusterNodes ?? "any number of";
  say(
    { licence: { ...licence, notAfter: until, over } },
    escapeUnprintable(
      `Licence ${licence.id} of ${licence.holder}: ${nodes} nodes${
        until === null ? "" : `, admits until ${until}`
      }${over ? " (over by this machine's clock; its seats stay)" : ""}`,
    ),
  );
  return over ? FAILED : DONE;
}
