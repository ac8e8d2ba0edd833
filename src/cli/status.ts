import {
  escapeUnprintable,
  isJsonObject,
  type JsonValue,
} from "../domain/mod.ts";
import { readArguments } from "./arguments.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type Command, DONE, FAILED } from "./command.ts";
import { formatMachine } from "./machine.ts";
import { formatMembers } from "./members.ts";
import { loadMemoryParsers } from "./memory_replies.ts";
import { formatModels } from "./models.ts";
import { formatMemory } from "./ps.ts";
import { loadReplyParsers } from "./replies.ts";
import {
  findUnusableEngines,
  formatUnusableEngines,
} from "./unusable_engines.ts";

/** `covey status`: readiness, members and models of the running node. */
export const statusCommand: Command = {
  name: "status",
  summary: "Tell how the running node and its cluster are",
  usage: "[--json]",
  help: () => "Exit code 0 if the node is ready to serve, 1 if it is not.",
  async run(args, context) {
    const given = readArguments(args);
    if (given.kind === "wrong") {
      return sayUsage(given.message, "status [--json]", context);
    }
    const readiness = await context.fetchJson("/readyz");
    const starting = readiness.kind === "refused" && readiness.status === 503;
    if (readiness.kind !== "answered" && !starting) {
      return sayFailure(readiness, context);
    }
    const members = await context.fetchJson("/cluster/members");
    if (members.kind !== "answered") return sayFailure(members, context);
    const models = await context.fetchJson("/v1/models");
    if (models.kind !== "answered") return sayFailure(models, context);
    // An older node does not say what is being loaded.
    const memory = await context.fetchJson("/covey/memory");
    const moving = memory.kind === "answered"
      ? (await loadMemoryParsers()).memory(memory.body)?.models
        .filter(({ state }) => state !== "warm") ?? []
      : [];
    const fleet = await context.fetchJson("/fleet/health");
    const unusable = fleet.kind === "answered"
      ? await findUnusableEngines(fleet.body)
      : [];
    const parse = await loadReplyParsers();
    const memberReply = parse.members(members.body);
    const modelReply = parse.models(models.body);
    if (memberReply === undefined || modelReply === undefined) {
      context.stderr(UNKNOWN_FORM);
      return FAILED;
    }
    const waitingFor = starting ? waitOf(readiness.body) : null;
    if (given.json) {
      context.stdout(JSON.stringify({
        ready: !starting,
        waitingFor,
        ...memberReply,
        models: modelReply.data,
        moving,
        unusable,
      }));
    } else {
      const self = memberReply.members.find((member) => member.self);
      const name = self === undefined ? "This node" : `Node ${self.name}`;
      const state = starting
        ? `is starting${
          waitingFor === null ? "" : ` (waiting for ${waitingFor})`
        }`
        : "is ready";
      context.stdout([
        escapeUnprintable(`${name} ${state}`),
        ...(self?.machine === undefined
          ? []
          : formatMachine(self.machine, self.conditions)),
        formatMembers(memberReply),
        ...(unusable.length === 0
          ? []
          : ["", ...formatUnusableEngines(unusable)]),
        "",
        formatModels(modelReply),
        ...(moving.length === 0 ? [] : ["", formatMemory({ models: moving })]),
      ].join("\n"));
    }
    return starting ? FAILED : DONE;
  },
};

function waitOf(body: JsonValue | undefined): string | null {
  if (!isJsonObject(body)) return null;
  const { waitingFor } = body;
  if (typeof waitingFor === "string") return waitingFor;
  return Array.isArray(waitingFor) ? waitingFor.join(", ") : null;
}
