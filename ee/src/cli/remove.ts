import { type Command, readFlags, sayUsage } from "@covey/core/cli";
import { escapeUnprintable } from "@covey/core/domain";
import { askAction, untoldLine } from "./ask_action.ts";

const USAGE = "NAME|UUID [--expel] [--json]";

/** `covey remove`. */
export const removeCommand: Command = {
  name: "remove",
  summary: "Remove a member from the cluster",
  usage: USAGE,
  help: () =>
    "A host that still knows the cluster's secret can return as a new member.\n--expel closes the door as well: the secret alone then lets nobody in until\n`covey door open` or a new secret; invitations still do.",
  run(args, context) {
    const given = readFlags(args, { switches: ["expel"] });
    const usage = (message: string) =>
      Promise.resolve(sayUsage(message, `remove ${USAGE}`, context));
    if (given.kind === "wrong") return usage(given.message);
    const [member, ...more] = given.words;
    if (member === undefined) return usage("The member's name is missing");
    if (more.length > 0) return usage("It takes one member at a time");
    return askAction({
      method: "DELETE",
      path: `/cluster/members/${encodeURIComponent(member)}`,
      body: { expel: given.switches.has("expel") },
      json: given.json,
      show: (answer) =>
        typeof answer.message !== "string"
          ? null
          : escapeUnprintable(answer.message) + untoldLine(answer),
    }, context);
  },
};
