import { escapeUnprintable, isJsonObject } from "../domain/mod.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type CliContext, DONE, FAILED } from "./command.ts";
import { readFlags } from "./flags.ts";
import { ProgressTeller } from "./progress.ts";
import { progressOfPull } from "./pull_progress.ts";

const USAGE = "models convert MODEL --to q8_0 [--as NAME] [--json]";

/**
 * Have the node make a smaller model of one that lies there.
 *
 * @param args What follows `convert`.
 * @param context What commands may touch.
 */
export async function convertModel(
  args: readonly string[],
  context: CliContext,
): Promise<number> {
  const given = readFlags(args, { values: ["to", "as"] });
  if (given.kind === "wrong") return sayUsage(given.message, USAGE, context);
  const { json, values, words: [model, ...more] } = given;
  const to = values.get("to");
  if (model === undefined || more.length > 0) {
    return sayUsage("Give one model", USAGE, context);
  }
  if (to === undefined) {
    return sayUsage("Say what to make of it with --to", USAGE, context);
  }
  const as = values.get("as");
  using teller = new ProgressTeller(context, null);
  const reply = await context.postLines(
    "/covey/models/convert",
    { model, to, ...as === undefined ? {} : { as } },
    (line) => {
      if (json) context.stdout(JSON.stringify(line));
      else if (typeof line["stage"] === "string") {
        teller.tell(progressOfPull(line));
      }
    },
  );
  teller[Symbol.dispose]();
  if (reply.kind !== "answered") return sayFailure(reply, context);
  const { body } = reply;
  if (!isJsonObject(body) || typeof body["model"] !== "string") {
    context.stderr(UNKNOWN_FORM);
    return FAILED;
  }
  if (json) return DONE;
  const megabytes = (value: unknown) => `${(Number(value) / 1e6).toFixed(0)}`;
  context.stdout(escapeUnprintable(
    `Made ${body["model"]}: ${megabytes(body["sizeBytes"])} MB instead of ${
      megabytes(body["originalBytes"])
    } MB, in ${(Number(body["tookMs"]) / 1000).toFixed(1)} s`,
  ));
  return DONE;
}
