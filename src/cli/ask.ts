import { escapeUnprintable, type JsonValue } from "../domain/mod.ts";
import { readArguments } from "./arguments.ts";
import {
  type ApiReply,
  type CliContext,
  DONE,
  FAILED,
  WRONG_USAGE,
} from "./command.ts";

/** Said where a node's answer can not be read. */
export const UNKNOWN_FORM =
  "The node answered in a form this version does not know; compare `covey version` with the node's";

/** A command that asks the node one question and shows the answer. */
export interface Question {
  readonly usage: string;
  readonly args: readonly string[];
  /** What its words are called. */
  readonly names?: readonly string[];
  /** The path to ask for, or what is wrong with a word. */
  path(
    words: readonly string[],
  ): { readonly path: string } | { readonly wrong: string };
  /** The answer as text, or null where its form is unknown. */
  show(body: JsonValue): Promise<string | null>;
}

/**
 * Ask the running node and print what it says: the node's JSON with `--json`,
 * text without.
 *
 * @param question What to ask.
 * @param context What commands may touch.
 * @returns The exit code.
 */
export async function askNode(
  question: Question,
  context: CliContext,
): Promise<number> {
  const given = readArguments(question.args, question.names);
  if (given.kind === "wrong") {
    return sayUsage(given.message, question.usage, context);
  }
  const target = question.path(given.words);
  if ("wrong" in target) return sayUsage(target.wrong, question.usage, context);
  const reply = await context.fetchJson(target.path);
  if (reply.kind !== "answered") return sayFailure(reply, context);
  if (given.json) {
    context.stdout(JSON.stringify(reply.body));
    return DONE;
  }
  const text = await question.show(reply.body);
  if (text === null) {
    context.stderr(UNKNOWN_FORM);
    return FAILED;
  }
  context.stdout(text);
  return DONE;
}

/**
 * Print why the node did not answer.
 *
 * @param reply What came instead of an answer.
 * @param context Where to print.
 * @returns The exit code.
 */
export function sayFailure(
  reply: Exclude<ApiReply, { kind: "answered" }>,
  context: CliContext,
): number {
  context.stderr(escapeUnprintable(reply.message));
  return FAILED;
}

/**
 * Print what was wrong with the arguments, and the right form.
 *
 * @param message What was wrong.
 * @param usage The command and its arguments.
 * @param context Where to print.
 * @returns The exit code.
 */
export function sayUsage(
  message: string,
  usage: string,
  context: CliContext,
): number {
  context.stderr(`${message}\nUsage: covey ${usage}`);
  return WRONG_USAGE;
}
