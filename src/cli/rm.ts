import { escapeUnprintable } from "../domain/mod.ts";
import { readArguments } from "./arguments.ts";
import { sayFailure, sayUsage } from "./ask.ts";
import { type Command, DONE } from "./command.ts";

const USAGE = "MODEL [--json]";

/** `covey rm`. */
export const rmCommand: Command = {
  name: "rm",
  summary: "Remove a model from this node's models folder",
  usage: USAGE,
  help: () => "A model that computes an answer just now is not removed.",
  async run(args, context) {
    const given = readArguments(args, ["model"]);
    const usage = `rm ${USAGE}`;
    if (given.kind === "wrong") return sayUsage(given.message, usage, context);
    const [model = ""] = given.words;
    const path = `/covey/models/${encodeURIComponent(model)}`;
    const reply = await context.postJson("DELETE", path, {});
    if (reply.kind !== "answered") return sayFailure(reply, context);
    context.stdout(
      given.json
        ? JSON.stringify(reply.body)
        : `Removed ${escapeUnprintable(model)}`,
    );
    return DONE;
  },
};
