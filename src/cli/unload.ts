import { escapeUnprintable } from "../domain/mod.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type Command, DONE, FAILED } from "./command.ts";
import { readFlags } from "./flags.ts";
import { loadMemoryParsers } from "./memory_replies.ts";
import { nodeNames } from "./node_names.ts";

const USAGE = "MODEL [--node NAME] [--json]";

/** `covey unload`, and Ollama's word for it. */
export const unloadCommand: Command = {
  name: "unload",
  aliases: ["stop"],
  summary: "Take a model out of memory, on all members or on one",
  usage: USAGE,
  help: () =>
    "A model that computes an answer leaves once that has ended; a pin ends with it.\nFails where the model stayed.",
  async run(args, context) {
    const usage = `unload ${USAGE}`;
    const given = readFlags(args, { values: ["node"] });
    if (given.kind === "wrong") return sayUsage(given.message, usage, context);
    const [model, ...more] = given.words;
    if (model === undefined || more.length > 0) {
      return sayUsage("Give one model", usage, context);
    }
    const node = given.values.get("node");
    const path = `/covey/models/${encodeURIComponent(model)}/unload`;
    const reply = await context.postJson(
      "POST",
      path,
      node === undefined ? {} : { node },
    );
    if (reply.kind !== "answered") return sayFailure(reply, context);
    const parsed = (await loadMemoryParsers()).unload(reply.body);
    if (parsed === undefined) {
      context.stderr(UNKNOWN_FORM);
      return FAILED;
    }
    const stayed = parsed.outcomes.filter(({ unloaded }) => !unloaded);
    if (given.json) context.stdout(JSON.stringify(reply.body));
    else {
      const names = nodeNames(parsed.outcomes);
      const lines = parsed.outcomes.map(({ node, reason, unloaded }) =>
        unloaded
          ? `Unloaded ${model} on ${names.get(node)}`
          : `${model} stays in memory on ${names.get(node)}: ${
            reason ?? "unknown"
          }`
      );
      const said = lines.length === 0 ? [`${model} is in no memory`] : lines;
      context.stdout(said.map(escapeUnprintable).join("\n"));
    }
    return stayed.length === 0 ? DONE : FAILED;
  },
};
