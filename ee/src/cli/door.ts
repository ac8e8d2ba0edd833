import { type Command, readFlags, sayUsage } from "@covey/core/cli";
import { askAction, untoldLine } from "./ask_action.ts";

const USAGE = "[open|closed] [--json]";

/** `covey door`. */
export const doorCommand: Command = {
  name: "door",
  summary: "Open or close the cluster to who knows its secret alone",
  usage: USAGE,
  help: () =>
    "Closed, the secret alone lets nobody in; invitations still do, and members\nstay. Without a word it tells how the door is.",
  run(args, context) {
    const given = readFlags(args, {});
    const usage = (message: string) =>
      Promise.resolve(sayUsage(message, `door ${USAGE}`, context));
    if (given.kind === "wrong") return usage(given.message);
    const [word, ...more] = given.words;
    const state = word === "close" ? "closed" : word;
    const known = state === undefined || state === "open" ||
      state === "closed";
    if (!known || more.length > 0) return usage("It is either open or closed");
    return askAction({
      method: "POST",
      path: "/cluster/door",
      body: state === undefined ? {} : { state },
      json: given.json,
      show: (answer) =>
        answer.door === "closed"
          ? `The door is closed: the secret alone lets nobody in${
            untoldLine(answer)
          }`
          : answer.door === "open"
          ? `The door is open: who knows the secret may join${
            untoldLine(answer)
          }`
          : null,
    }, context);
  },
};
