import { type Command, readFlags, sayUsage } from "@covey/core/cli";
import { escapeUnprintable } from "@covey/core/domain";
import { askAction, untoldLine } from "./ask_action.ts";

const USAGE = "[--until-restart] [--json]";

/** `covey leave`. */
export const leaveCommand: Command = {
  name: "leave",
  summary: "Take this node out of its cluster",
  usage: USAGE,
  help: () =>
    "The others are told to forget this node, and it closes its link. A node with\na cluster secret would come back at its next start, so that one has to be\nunset first; --until-restart leaves for as long as this process runs.",
  run(args, context) {
    const given = readFlags(args, { switches: ["until-restart"] });
    if (given.kind === "wrong" || given.words.length > 0) {
      const message = given.kind === "wrong"
        ? given.message
        : "It takes no words";
      return Promise.resolve(sayUsage(message, `leave ${USAGE}`, context));
    }
    const untilRestart = given.switches.has("until-restart");
    return askAction({
      method: "POST",
      path: "/cluster/leave",
      body: { untilRestart },
      json: given.json,
      show: (answer) =>
        answer.left !== true ? null : escapeUnprintable(
          untilRestart
            ? "This node is out of the cluster until it is started again"
            : "This node has left the cluster",
        ) + untoldLine(
          answer,
          "run `covey remove` for this node on one of them",
        ),
    }, context);
  },
};
