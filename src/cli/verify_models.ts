import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../domain/mod.ts";
import { readArguments } from "./arguments.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type CliContext, DONE, FAILED } from "./command.ts";
import { type Progress, ProgressTeller } from "./progress.ts";

const USAGE = "models verify [MODEL] [--json]";

/**
 * Have the node read its models again and compare them with their manifests.
 *
 * @param args What follows `verify`.
 * @param context What commands may touch.
 * @returns `DONE` where all of them are as they were.
 */
export async function verifyModels(
  args: readonly string[],
  context: CliContext,
): Promise<number> {
  const named = args.some((arg) => !arg.startsWith("-"));
  const given = readArguments(args, named ? ["model"] : []);
  if (given.kind === "wrong") return sayUsage(given.message, USAGE, context);
  const [model] = given.words;
  using teller = new ProgressTeller(context, null);
  const reply = await context.postLines(
    "/covey/models/verify",
    model === undefined ? {} : { model },
    (line) => {
      if (!given.json && line["status"] === "verifying") {
        teller.tell(progressOf(line));
      }
    },
  );
  teller[Symbol.dispose]();
  if (reply.kind !== "answered") return sayFailure(reply, context);
  const { body } = reply;
  if (!isJsonObject(body) || !Array.isArray(body["models"])) {
    context.stderr(UNKNOWN_FORM);
    return FAILED;
  }
  context.stdout(
    given.json ? JSON.stringify(body) : [
      objectsOf(body["models"]).flatMap(linesOf).join("\n") ||
      "No model lies here",
      ...objectsOf(body["partial"]).map(partialLineOf),
      ...objectsOf(body["invalid"]).map(invalidLineOf),
    ].join("\n"),
  );
  return body["sound"] === true ? DONE : FAILED;
}

function progressOf({ doneBytes, model, totalBytes }: JsonObject): Progress {
  const bytes = (value: JsonValue | undefined) =>
    typeof value === "number" ? value : null;
  return {
    what: `verifying ${String(model)}`,
    doneBytes: bytes(doneBytes),
    totalBytes: bytes(totalBytes),
    bytesPerSecond: null,
    remainingMs: null,
    from: [],
  };
}

function linesOf({ model, sound, files }: JsonObject): string[] {
  const shown = escapeUnprintable(String(model));
  if (sound === true) return [`${shown}: sound`];
  return objectsOf(files).map(({ name, problem }) =>
    `${shown}: ${escapeUnprintable(`${String(name)}: ${String(problem)}`)}`
  );
}

function invalidLineOf({ name, reason }: JsonObject): string {
  return `No model: ${escapeUnprintable(`${String(name)}: ${String(reason)}`)}`;
}

function partialLineOf({ idleMs, of, path, sizeBytes }: JsonObject): string {
  const size = `${(Number(sizeBytes) / 1e6).toFixed(1)} MB`;
  const hours = typeof idleMs === "number" ? idleMs / 3_600_000 : null;
  const age = hours === null
    ? "nothing came yet"
    : hours < 1
    ? "written within the hour"
    : hours < 48
    ? `written ${Math.round(hours)} h ago`
    : `written ${Math.round(hours / 24)} days ago`;
  const shown = escapeUnprintable(String(path));
  return `Partial: ${shown}: ${size} of a ${
    escapeUnprintable(String(of))
  }, ${age}`;
}

function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
