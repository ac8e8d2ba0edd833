import { type Command, sayUsage } from "@covey/core/cli";
import type { JsonObject } from "@covey/core/domain";
import { askAction } from "./ask_action.ts";
import { copiesTable, failedLines } from "./copies_table.ts";
import { type Given, readFlags } from "./flags.ts";

const MEGABYTE = 1e6;
const LIMIT = "limit";
const COPY_USAGE = "MODEL NODE… [--limit MB/S] [--json]";
const SYNC_USAGE = "MODEL --all [--limit MB/S] [--json]";
const HELP =
  "Each node fetches the model itself, from every member that has it, and checks\nevery piece. It goes on whatever becomes of this terminal, also after a\nrestart; `covey copies` shows how far it is. --limit holds a node back to so\nmany megabytes a second.";

/** `covey copy`. */
export const copyCommand: Command = {
  name: "copy",
  summary: "Copy a model to other members",
  usage: COPY_USAGE,
  help: () => HELP,
  run(args, context) {
    const given = readFlags(args, { values: [LIMIT] });
    const usage = (message: string) =>
      Promise.resolve(sayUsage(message, `copy ${COPY_USAGE}`, context));
    if (given.kind === "wrong") return usage(given.message);
    const [model, ...to] = given.words;
    if (model === undefined) return usage("The model's name is missing");
    if (to.length === 0) return usage("The names of nodes are missing");
    const limit = limitOf(given);
    if (limit === null) return usage("--limit takes a number above 0");
    return askAction(asked({ model, to, ...limit }, given.json), context);
  },
};

/** `covey sync`. */
export const syncCommand: Command = {
  name: "sync",
  summary: "Copy a model to every member that does not have it",
  usage: SYNC_USAGE,
  help: () => HELP,
  run(args, context) {
    const given = readFlags(args, { switches: ["all"], values: [LIMIT] });
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
    return askAction(
      asked({ model, to: "all", ...limit }, given.json),
      context,
    );
  },
};

function asked(body: JsonObject, json: boolean) {
  return {
    method: "POST" as const,
    path: "/cluster/copies",
    body,
    json,
    show(answer: JsonObject): string | null {
      const { copies } = answer;
      const failed = failedLines(answer);
      if (Array.isArray(copies) && copies.length === 0) {
        return failed.length > 0
          ? failed.join("\n")
          : "Every member has it already.";
      }
      const table = copiesTable(copies);
      return table === null ? null : [table, ...failed].join("\n");
    },
  };
}

/** The limit as the body has it; null where it is none. */
function limitOf(
  { values }: Extract<Given, { kind: "given" }>,
): JsonObject | null {
  const text = values.get(LIMIT);
  if (text === undefined) return {};
  const bytesPerSecond = Number(text) * MEGABYTE;
  return bytesPerSecond >= 1 && Number.isFinite(bytesPerSecond)
    ? { bytesPerSecond }
    : null;
}
