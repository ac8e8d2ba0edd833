/**
 * The command line: one file a command, and what runs them.
 *
 * @module
 */
import type { Command } from "./command.ts";
import { drainCommand, undrainCommand } from "./drain.ts";
import { explainCommand } from "./explain.ts";
import { fitCommand } from "./fit.ts";
import { importCommand } from "./import.ts";
import { membersCommand } from "./members.ts";
import { modelsCommand } from "./models.ts";
import { psCommand } from "./ps.ts";
import { pullCommand } from "./pull.ts";
import { pullsCommand } from "./pulls.ts";
import { rmCommand } from "./rm.ts";
import { secretCommand } from "./secret.ts";
import { statusCommand } from "./status.ts";
import { unloadCommand } from "./unload.ts";
import { versionCommand } from "./version.ts";

export {
  type ApiReply,
  type CliContext,
  type Command,
  DONE,
  FAILED,
  WRONG_USAGE,
} from "./command.ts";
export { type Arguments, readArguments } from "./arguments.ts";
export {
  askNode,
  type Question,
  sayFailure,
  sayUsage,
  UNKNOWN_FORM,
} from "./ask.ts";
export {
  createNodeApi,
  type NodeAddress,
  type NodeApiOptions,
} from "./node_api.ts";
export { keyCommand } from "./key.ts";
export {
  formatBar,
  formatProgress,
  type Progress,
  ProgressTeller,
} from "./progress.ts";
export { type Given, readFlags } from "./flags.ts";
export { parseRate } from "./rate.ts";
export { formatTable } from "./table.ts";
export { runCli } from "./run_cli.ts";

/** The commands that need no more than a `CliContext`, in the order of the list. */
export const COMMANDS: readonly Command[] = [
  statusCommand,
  membersCommand,
  modelsCommand,
  pullCommand,
  pullsCommand,
  importCommand,
  rmCommand,
  psCommand,
  fitCommand,
  unloadCommand,
  drainCommand,
  undrainCommand,
  explainCommand,
  secretCommand,
  versionCommand,
];
