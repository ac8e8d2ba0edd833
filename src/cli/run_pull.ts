import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../domain/mod.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type CliContext, DONE, FAILED } from "./command.ts";
import { formatTable } from "./table.ts";

const USAGE =
  "pull SOURCE [--revision R] [--limit BYTES] [--json] | --list | --cancel ID";
/** Between two lines of progress on a terminal. */
const SAY_EVERY_MS = 5_000;

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
    return list ? listPulls(json, context) : cancel(`${cancelled}`, context);
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
  let saidMs = -Infinity;
  let stage: JsonValue | undefined;
  const reply = await context.postLines("/covey/pulls", body, (line) => {
    if (json) {
      context.stdout(JSON.stringify(line));
      return;
    }
    const nowMs = context.nowMs();
    const isNews = line["status"] !== stage;
    if (typeof line["stage"] !== "string") return;
    if (!isNews && nowMs - saidMs < SAY_EVERY_MS) return;
    saidMs = nowMs;
    stage = line["status"];
    context.stderr(escapeUnprintable(progressOf(line)));
  });
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
  context.stdout(`Pulled ${escapeUnprintable(last["model"])}; ${how}`);
  return DONE;
}

async function listPulls(json: boolean, context: CliContext): Promise<number> {
  const reply = await context.fetchJson("/covey/pulls");
  if (reply.kind !== "answered") return sayFailure(reply, context);
  const { body } = reply;
  if (!isJsonObject(body) || !Array.isArray(body["pulls"])) {
    context.stderr(UNKNOWN_FORM);
    return FAILED;
  }
  const rows = body["pulls"].filter(isJsonObject).map((view) =>
    [
      String(view["id"]),
      String(view["source"]),
      progressOf(view),
    ].map(escapeUnprintable)
  );
  const table = () => formatTable([["ID", "SOURCE", "STATE"], ...rows]);
  context.stdout(
    json
      ? JSON.stringify(body)
      : rows.length === 0
      ? "Nothing is pulled just now"
      : table(),
  );
  return DONE;
}

async function cancel(id: string, context: CliContext): Promise<number> {
  const path = `/covey/pulls/${encodeURIComponent(id)}`;
  const reply = await context.postJson("DELETE", path, {});
  if (reply.kind !== "answered") return sayFailure(reply, context);
  context.stdout(`Cancelled ${escapeUnprintable(id)}`);
  return DONE;
}

function progressOf(view: JsonObject): string {
  const { bytesPerSecond, doneBytes, remainingMs, stage, totalBytes } = view;
  if (stage !== "downloading") return String(stage);
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);
  const parts = [`downloading ${megabytes(Number(doneBytes))}`];
  if (typeof totalBytes === "number") {
    parts.push(`of ${megabytes(totalBytes)} MB`);
  } else parts.push("MB");
  if (typeof bytesPerSecond === "number") {
    parts.push(`at ${(bytesPerSecond / 1e6).toFixed(1)} MB/s`);
  }
  if (typeof remainingMs === "number") {
    parts.push(`with ${Math.ceil(remainingMs / 1_000)} s left`);
  }
  return parts.join(" ");
}
