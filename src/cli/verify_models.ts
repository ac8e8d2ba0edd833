import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../domain/mod.ts";
import { readArguments } from "./arguments.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type CliContext, DONE, FAILED } from "./command.ts";

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
  const reply = await context.postLines(
    "/covey/models/verify",
    model === undefined ? {} : { model },
    () => {},
  );
  if (reply.kind !== "answered") return sayFailure(reply, context);
  const { body } = reply;
  if (!isJsonObject(body) || !Array.isArray(body["models"])) {
    context.stderr(UNKNOWN_FORM);
    return FAILED;
  }
  context.stdout(
    given.json
      ? JSON.stringify(body)
      : objectsOf(body["models"]).flatMap(linesOf).join("\n") ||
        "No model lies here",
  );
  return body["sound"] === true ? DONE : FAILED;
}

function linesOf({ model, sound, files }: JsonObject): string[] {
  const shown = escapeUnprintable(String(model));
  if (sound === true) return [`${shown}: sound`];
  return objectsOf(files).map(({ name, problem }) =>
    `${shown}: ${escapeUnprintable(`${String(name)}: ${String(problem)}`)}`
  );
}

function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
