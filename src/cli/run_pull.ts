import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
} from "../domain/mod.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type CliContext, DONE, FAILED } from "./command.ts";
import { ProgressTeller } from "./progress.ts";
import { progressOfPull } from "./pull_progress.ts";
import { changePull, listPulls } from "./pulls.ts";

const USAGE =
  "pull SOURCE [--revision R] [--limit BYTES] [--json] | --list | --cancel ID";

interface Asked {
  readonly words: readonly string[];
  readonly json: boolean;
  readonly list: boolean;
  readonly options: ReadonlyMap<string, string>;
}

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
  const asked = read(args);
  if (typeof asked === "string") return sayUsage(asked, USAGE, context);
  const { json, list, options, words } = asked;
  const cancelled = options.get("--cancel");
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
  const limit = options.get("--limit");
  if (limit !== undefined && !/^[1-9]\d{0,14}$/.test(limit)) {
    return sayUsage("The limit is a number of bytes", USAGE, context);
  }
  const revision = options.get("--revision");
  return await pull(
    {
      source,
      ...(revision === undefined ? {} : { revision }),
      ...(limit === undefined ? {} : { max_bytes_per_second: Number(limit) }),
    },
    json,
    context,
  );
}

function read(args: readonly string[]): Asked | string {
  const words: string[] = [];
  const options = new Map<string, string>();
  let json = false;
  let list = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--json") json = true;
    else if (arg === "--list") list = true;
    else if (/^--(?:revision|limit|cancel)$/.test(arg)) {
      const value = args[++at];
      if (value === undefined) return `${arg} wants a value`;
      options.set(arg, value);
    } else if (arg.startsWith("-")) {
      return `There is no flag "${escapeUnprintable(arg.slice(0, 64))}" here`;
    } else words.push(arg);
  }
  return { words, json, list, options };
}

async function pull(
  body: JsonObject,
  json: boolean,
  context: CliContext,
): Promise<number> {
  using teller = new ProgressTeller(context);
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
