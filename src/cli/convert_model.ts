import { escapeUnprintable, isJsonObject } from "../domain/mod.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type CliContext, DONE, FAILED } from "./command.ts";
import { ProgressTeller } from "./progress.ts";
import { progressOfPull } from "./pull_progress.ts";

const USAGE = "models convert MODEL --to q8_0 [--as NAME] [--json]";

interface Asked {
  readonly words: readonly string[];
  readonly json: boolean;
  readonly options: ReadonlyMap<string, string>;
}

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
  const asked = read(args);
  if (typeof asked === "string") return sayUsage(asked, USAGE, context);
  const { json, options, words: [model, ...more] } = asked;
  const to = options.get("--to");
  if (model === undefined || more.length > 0) {
    return sayUsage("Give one model", USAGE, context);
  }
  if (to === undefined) {
    return sayUsage("Say what to make of it with --to", USAGE, context);
  }
  const as = options.get("--as");
  using teller = new ProgressTeller(context);
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

function read(args: readonly string[]): Asked | string {
  const words: string[] = [];
  const options = new Map<string, string>();
  let json = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--json") json = true;
    else if (arg === "--to" || arg === "--as") {
      const value = args[++at];
      if (value === undefined) return `${arg} wants a value`;
      options.set(arg, value);
    } else if (arg.startsWith("-")) {
      return `There is no flag "${escapeUnprintable(arg.slice(0, 64))}" here`;
    } else words.push(arg);
  }
  return { words, json, options };
}
