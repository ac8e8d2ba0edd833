import { escapeUnprintable, isJsonObject } from "../domain/mod.ts";
import { readArguments } from "./arguments.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type CliContext, type Command, DONE, FAILED } from "./command.ts";

/** `covey drain`. */
export const drainCommand: Command = {
  name: "drain",
  summary: "Have a member finish what runs and take no more work",
  usage: "NAME|UUID [--json]",
  help: () =>
    "It stays so over restarts, until `covey undrain`. `covey members` shows who\ndrains; GET /fleet/workers/NAME/status shows in_flight_tasks, and at 0 the\nmachine can be switched off or removed.",
  run: (args, context) => turn("drain", args, context),
};

/** `covey undrain`. */
export const undrainCommand: Command = {
  name: "undrain",
  summary: "Have a drained member take work again",
  usage: "NAME|UUID [--json]",
  run: (args, context) => turn("undrain", args, context),
};

async function turn(
  action: "drain" | "undrain",
  args: readonly string[],
  context: CliContext,
): Promise<number> {
  const given = readArguments(args, ["member's name"]);
  if (given.kind === "wrong") {
    return sayUsage(given.message, `${action} NAME|UUID [--json]`, context);
  }
  const [member = ""] = given.words;
  const reply = await context.postJson(
    "POST",
    `/fleet/workers/${encodeURIComponent(member)}/${action}`,
    {},
  );
  if (reply.kind !== "answered") return sayFailure(reply, context);
  if (given.json) {
    context.stdout(JSON.stringify(reply.body));
    return DONE;
  }
  const worker = isJsonObject(reply.body) ? reply.body : {};
  const { in_flight_tasks: left, name } = worker;
  if (typeof name !== "string" || typeof left !== "number") {
    context.stderr(UNKNOWN_FORM);
    return FAILED;
  }
  context.stdout(escapeUnprintable(
    action === "undrain"
      ? `"${name}" takes work again`
      : left === 0
      ? `"${name}" takes no more work, and nothing runs there`
      : `"${name}" takes no more work; ${left} still ${
        left === 1 ? "runs" : "run"
      } there`,
  ));
  return DONE;
}
