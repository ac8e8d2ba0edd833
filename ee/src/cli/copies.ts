import {
  type Command,
  DONE,
  FAILED,
  readFlags,
  sayFailure,
  sayUsage,
  UNKNOWN_FORM,
} from "@covey/core/cli";
import { isJsonObject } from "@covey/core/domain";
import { askAction } from "./ask_action.ts";
import { copiesTable } from "./copies_table.ts";

const USAGE = "[pause|resume|cancel ID] [--json]";
const CHANGE = /^(?:pause|resume|cancel)$/;

/** `covey copies`. */
export const copiesCommand: Command = {
  name: "copies",
  summary:
    "List copies of models between members, or pause, resume or cancel one",
  usage: USAGE,
  help: () =>
    "A copy that is paused keeps what has come, also over a restart of its node, until\nit is resumed or cancelled. What came of a cancelled one is removed.",
  async run(args, context) {
    const given = readFlags(args, { values: ["cancel"] });
    const usage = (message: string) =>
      sayUsage(message, `copies ${USAGE}`, context);
    if (given.kind === "wrong") return usage(given.message);
    const [what = given.values.has("cancel") ? "cancel" : undefined, ...ids] =
      given.words;
    if (what !== undefined) {
      const [id = given.values.get("cancel"), ...more] = ids;
      if (!CHANGE.test(what) || id === undefined || more.length > 0) {
        return usage("It takes pause, resume or cancel, and a copy's id");
      }
      const path = `/cluster/copies/${encodeURIComponent(id)}`;
      return await askAction({
        method: what === "cancel" ? "DELETE" : "POST",
        path: what === "cancel" ? path : `${path}/${what}`,
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
      ? copiesTable(reply.body.copies, reply.body.unknown)
      : null;
    if (text === null) {
      context.stderr(UNKNOWN_FORM);
      return FAILED;
    }
    context.stdout(text);
    return DONE;
  },
};
