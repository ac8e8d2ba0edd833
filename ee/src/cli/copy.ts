import {
  type CliContext,
  type Command,
  DONE,
  FAILED,
  type Given,
  parseRate,
  readFlags,
  sayFailure,
  sayUsage,
  UNKNOWN_FORM,
} from "@covey/core/cli";
import { isJsonObject, type JsonObject } from "@covey/core/domain";
import { copiesTable, failedLines } from "./copies_table.ts";
import { watchCopies } from "./watch_copies.ts";

const LIMIT = "limit";
const DETACH = "detach";
const COPY_USAGE = "MODEL NODE… [--limit MB/S] [--detach] [--json]";
const SYNC_USAGE = "MODEL --all [--limit MB/S] [--detach] [--json]";
const HELP =
  "Each node fetches the model itself, from every member that has it, and checks\nevery piece. This shows how far it is until the last node is done, and fails when\none of them does; it goes on whatever becomes of this terminal, also after a\nrestart. `covey copies` lists copies, and pauses, resumes and cancels them.\n--detach does not wait; --limit holds a node back to so many megabytes a second.\nA converted model is made by the node itself where it has the original and that is\nseen to take less time.";

/** `covey copy`. */
export const copyCommand: Command = {
  name: "copy",
  summary: "Copy a model to other members",
  usage: COPY_USAGE,
  help: () => HELP,
  run(args, context) {
    const given = readFlags(args, { switches: [DETACH], values: [LIMIT] });
    const usage = (message: string) =>
      Promise.resolve(sayUsage(message, `copy ${COPY_USAGE}`, context));
    if (given.kind === "wrong") return usage(given.message);
    const [model, ...to] = given.words;
    if (model === undefined) return usage("The model's name is missing");
    if (to.length === 0) return usage("The names of nodes are missing");
    const limit = limitOf(given);
    if (limit === null) return usage("--limit takes a number above 0");
    return startCopies({ model, to, ...limit }, given, context);
  },
};

/** `covey sync`. */
export const syncCommand: Command = {
  name: "sync",
  summary: "Copy a model to every member that does not have it",
  usage: SYNC_USAGE,
  help: () => HELP,
  run(args, context) {
    const given = readFlags(args, {
      switches: ["all", DETACH],
      values: [LIMIT],
    });
    const usage = (message: string) =>
      Promise.resolve(sayUsage(message, `sync ${SYNC_USAGE}`, context));
    if (given.kind === "wrong") return usage(given.message);
    const [model, ...more] = given.words;
    if (model === undefined) return usage("The model's name is missing");
    if (more.length > 0 || !given.switches.has("all")) {
      return usage("It takes one model and --all; `covey copy` names nodes");
    }
    const limit = limitOf(given);
    if (limit === null) return usage("--limit takes a number above 0");
    return startCopies({ model, to: "all", ...limit }, given, context);
  },
};

/** Have copies begun, and wait for them unless told otherwise. */
async function startCopies(
  body: JsonObject,
  { json, switches }: Extract<Given, { kind: "given" }>,
  context: CliContext,
): Promise<number> {
  const reply = await context.postJson("POST", "/cluster/copies", body);
  if (reply.kind !== "answered") return sayFailure(reply, context);
  const answer = isJsonObject(reply.body) ? reply.body : {};
  const { copies } = answer;
  const table = copiesTable(copies);
  if (table === null || !Array.isArray(copies)) {
    context.stderr(UNKNOWN_FORM);
    return FAILED;
  }
  const failed = failedLines(answer);
  for (const line of failed) context.stderr(line);
  const ids = copies.filter(isJsonObject).map(({ id }) => String(id));
  const isWaiting = ids.length > 0 && !switches.has(DETACH);
  if (!isWaiting) {
    if (json) context.stdout(JSON.stringify(reply.body));
    else if (ids.length > 0) context.stdout(table);
    else if (failed.length === 0) {
      context.stdout("Every member has it already.");
    }
    return failed.length === 0 ? DONE : FAILED;
  }
  const code = await watchCopies(new Set(ids), json, context);
  return failed.length === 0 ? code : FAILED;
}

/** The limit as the body has it; null where it is none. */
function limitOf(
  { values }: Extract<Given, { kind: "given" }>,
): JsonObject | null {
  const text = values.get(LIMIT);
  if (text === undefined) return {};
  const bytesPerSecond = parseRate(text);
  return bytesPerSecond === undefined ? null : { bytesPerSecond };
}
