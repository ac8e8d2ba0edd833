import { isJsonObject } from "../domain/mod.ts";
import { readArguments } from "./arguments.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type Command, DONE, FAILED } from "./command.ts";
import { formatModels } from "./models.ts";
import { loadReplyParsers } from "./replies.ts";

/** `covey ps`: the models that are in memory somewhere. */
export const psCommand: Command = {
  name: "ps",
  summary: "List the models that are in memory on some member",
  usage: "[--json]",
  async run(args, context) {
    const given = readArguments(args);
    if (given.kind === "wrong") {
      return sayUsage(given.message, "ps [--json]", context);
    }
    const reply = await context.fetchJson("/v1/models");
    if (reply.kind !== "answered") return sayFailure(reply, context);
    const models = (await loadReplyParsers()).models(reply.body);
    if (models === undefined || !isJsonObject(reply.body)) {
      context.stderr(UNKNOWN_FORM);
      return FAILED;
    }
    const data = models.data.filter(({ warm }) => warm);
    if (given.json) context.stdout(JSON.stringify({ data }));
    else {
      context.stdout(
        data.length === 0 ? "No model is in memory" : formatModels({ data }),
      );
    }
    return DONE;
  },
};
