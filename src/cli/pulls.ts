import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
} from "../domain/mod.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type CliContext, type Command, DONE, FAILED } from "./command.ts";
import { formatProgress } from "./progress.ts";
import { progressOfPull } from "./pull_progress.ts";
import { formatTable } from "./table.ts";

const USAGE = "[pause|resume|cancel ID] [--json]";
const DID: Readonly<Record<string, string>> = {
  pause: "Paused",
  resume: "Resumed",
  cancel: "Cancelled",
};

/** `covey pulls`. */
export const pullsCommand: Command = {
  name: "pulls",
  summary: "List pulls, or pause, resume or cancel one",
  usage: USAGE,
  help: () =>
    [
      "A pull that is paused keeps what has come, also over a restart of the node,",
      "until it is resumed or cancelled. What a cancelled one has fetched is removed.",
    ].join("\n"),
  async run(args, context) {
    const words = args.filter((arg) => arg !== "--json");
    const json = words.length < args.length;
    const [what, id, ...more] = words;
    if (what === undefined) return await listPulls(json, context);
    if (DID[what] === undefined || more.length > 0) {
      return sayUsage(
        "It takes pause, resume or cancel, and a pull's id",
        `pulls ${USAGE}`,
        context,
      );
    }
    if (id === undefined) {
      return sayUsage("The pull's id is missing", `pulls ${USAGE}`, context);
    }
    return await changePull(what, id, json, context);
  },
};

/**
 * Show the pulls that run or are paused.
 *
 * @param json Whether as the node's JSON.
 * @param context What commands may touch.
 */
export async function listPulls(
  json: boolean,
  context: CliContext,
): Promise<number> {
  const reply = await context.fetchJson("/covey/pulls");
  if (reply.kind !== "answered") return sayFailure(reply, context);
  const { body } = reply;
  if (!isJsonObject(body) || !Array.isArray(body["pulls"])) {
    context.stderr(UNKNOWN_FORM);
    return FAILED;
  }
  const rows = body["pulls"].filter(isJsonObject).map((view: JsonObject) => [
    escapeUnprintable(String(view["id"])),
    escapeUnprintable(String(view["source"])),
    formatProgress(progressOfPull(view)),
  ]);
  context.stdout(
    json
      ? JSON.stringify(body)
      : rows.length === 0
      ? "Nothing is pulled just now"
      : formatTable([["ID", "SOURCE", "STATE"], ...rows]),
  );
  return DONE;
}

/**
 * Pause, resume or cancel a pull.
 *
 * @param what Which of them.
 * @param id Of the pull.
 * @param json Whether to answer as JSON.
 * @param context What commands may touch.
 */
export async function changePull(
  what: string,
  id: string,
  json: boolean,
  context: CliContext,
): Promise<number> {
  const path = `/covey/pulls/${encodeURIComponent(id)}`;
  const reply = what === "cancel"
    ? await context.postJson("DELETE", path, {})
    : await context.postJson("POST", `${path}/${what}`, {});
  if (reply.kind !== "answered") return sayFailure(reply, context);
  context.stdout(
    json
      ? JSON.stringify(reply.body)
      : `${DID[what] ?? what} ${escapeUnprintable(id)}`,
  );
  return DONE;
}
