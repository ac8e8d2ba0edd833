import {
  type CliContext,
  DONE,
  FAILED,
  sayFailure,
  UNKNOWN_FORM,
} from "@covey/core/cli";
import { isJsonObject, type JsonObject } from "@covey/core/domain";

/** An action to ask of the running node. */
export interface Asked {
  readonly method: "POST" | "DELETE";
  readonly path: string;
  readonly body: JsonObject;
  readonly json: boolean;
  /** The answer as text, or null where its form is unknown. */
  show(answer: JsonObject): string | null;
}

/**
 * Have the running node do something and print what it says.
 *
 * @returns The exit code.
 */
export async function askAction(
  { body, json, method, path, show }: Asked,
  context: CliContext,
): Promise<number> {
  const reply = await context.postJson(method, path, body);
  if (reply.kind !== "answered") return sayFailure(reply, context);
  if (json) {
    context.stdout(JSON.stringify(reply.body));
    return DONE;
  }
  const text = isJsonObject(reply.body) ? show(reply.body) : null;
  if (text === null) {
    context.stderr(UNKNOWN_FORM);
    return FAILED;
  }
  context.stdout(text);
  return DONE;
}

/**
 * A line on members that could not be told, or nothing.
 *
 * @param answer An answer with `untold`.
 * @param then What happens then, or is to be done.
 */
export function untoldLine(
  { untold }: JsonObject,
  then = "they hear of it once they are back",
): string {
  const names = Array.isArray(untold)
    ? untold.filter((name) => typeof name === "string")
    : [];
  return names.length === 0
    ? ""
    : `\nNot reached now: ${names.join(", ")}; ${then}`;
}
