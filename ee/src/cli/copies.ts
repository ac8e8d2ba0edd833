import {
  type Command,
  DONE,
  FAILED,
  sayFailure,
  sayUsage,
  UNKNOWN_FORM,
} from "@covey/core/cli";
import { isJsonObject } from "@covey/core/domain";
import { askAction } from "./ask_action.ts";
import { copiesTable } from "./copies_table.ts";
import { readFlags } from "./flags.ts";

const USAGE = "[--cancel ID] [--json]";

/** `covey copies`. */
export const copiesCommand: Command = {
  name: "copies",
  summary: "List copies of models between members, or cancel one",
  usage: USAGE,
  async run(args, context) {
    const given = readFlags(args, { values: ["cancel"] });
    const usage = (message: string) =>
      sayUsage(message, `copies ${USAGE}`, context);
    if (given.kind === "wrong") return usage(given.message);
    if (given.words.length > 0) return usage("It takes no words");
    const id = given.values.get("cancel");
    if (id !== undefined) {
      return await askAction({
        method: "DELETE",
        path: `/cluster/copies/${encodeURIComponent(id)}`,
        body: {},
        json: given.json,
        show: ({ copies }) => copiesTable(copies),
      }, context);
    }
    const reply = await context.fetchJson("/cluster/copies");
    if (reply.kind !== "answered") return sayFailure(reply, context);
    const text = given.json
      ? JSON.stringify(reply.body)
      : isJsonObject(reply.body)
      ? copiesTable(reply.body.copies)
      : null;
    if (text === null) {
      context.stderr(UNKNOWN_FORM);
      return FAILED;
    }
    context.stdout(text);
    return DONE;
  },
};
