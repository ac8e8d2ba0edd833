import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
} from "../domain/mod.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type CliContext, DONE, FAILED } from "./command.ts";
import { readFlags } from "./flags.ts";
import { ProgressTeller } from "./progress.ts";
import { progressOfPull } from "./pull_progress.ts";
import { changePull, listPulls } from "./pulls.ts";
import { parseRate } from "./rate.ts";

const USAGE =
  "pull SOURCE [--revision R] [--limit MB/S] [--json] | --list | --cancel ID";

/**
 * Have the node pull a model, list its pulls, or cancel one.
 *
 * @param args What follows `pull`.
 * @param context What commands may touch.
 */
export async function runPullCommand(
  args: readonly string[],
  context: CliContext,
): Promise<number> {
  const given = readFlags(args, {
    switches: ["list"],
    values: ["revision", "limit", "cancel"],
  });
  if (given.kind === "wrong") return sayUsage(given.message, USAGE, context);
  const { json, switches, values, words } = given;
  const list = switches.has("list");
  const cancelled = values.get("cancel");
  if (list || cancelled !== undefined) {
    if (words.length > 0) {
      return sayUsage("There is nothing to pull here", USAGE, context);
    }
    return list
      ? listPulls(json, context)
      : changePull("cancel", `${cancelled}`, json, context);
  }
  const [source, ...more] = words;
  if (source === undefined || more.length > 0) {
    return sayUsage("Give one source", USAGE, context);
  }
  const limit = values.get("limit");
  const rate = limit === undefined ? undefined : parseRate(limit);
  if (limit !== undefined && rate === undefined) {
    return sayUsage("--limit takes a number above 0", USAGE, context);
  }
  const revision = values.get("revision");
  return await pull(
    {
      source,
      ...(revision === undefined ? {} : { revision }),
      ...(rate === undefined ? {} : { max_bytes_per_second: rate }),
    },
    json,
    context,
  );
}

async function pull(
  body: JsonObject,
  json: boolean,
  context: CliContext,
): Promise<number> {
  using teller = new ProgressTeller(
    context,
    "The node goes on with the pull: `covey pulls` shows it, `covey pulls cancel ID` ends it",
  );
  let note: unknown;
  const reply = await context.postLines("/covey/pulls", body, (line) => {
    if (json) context.stdout(JSON.stringify(line));
    else if (typeof line["stage"] === "string") {
      if (typeof line["note"] === "string" && line["note"] !== note) {
        note = line["note"];
        teller.say(line["note"]);
      }
      teller.tell(progressOfPull(line));
    }
  });
  teller[Symbol.dispose]();
  if (reply.kind !== "answered") return sayFailure(reply, context);
  const { body: last } = reply;
  if (!isJsonObject(last) || typeof last["model"] !== "string") {
    context.stderr(UNKNOWN_FORM);
    return FAILED;
  }
  if (json) return DONE;
  const how = last["verified"] === true
    ? "its digest is the published one"
    : "its source publishes no digest";
  const from = Array.isArray(last["from"]) && last["from"].length > 0
    ? ` from ${last["from"].map(String).join(", ")}`
    : "";
  context.stdout(
    escapeUnprintable(`Pulled ${last["model"]}${from}; ${how}`),
  );
  // What was not said while it ran.
  if (typeof last["note"] === "string" && last["note"] !== note) {
    context.stderr(escapeUnprintable(last["note"]));
  }
  return DONE;
}
