import {
  distinctNames,
  escapeUnprintable,
  type NodeId,
} from "../domain/mod.ts";
import { askNode } from "./ask.ts";
import type { Command } from "./command.ts";
import { loadReplyParsers, type MembersReply } from "./replies.ts";
import { formatTable } from "./table.ts";

/** `covey members`. */
export const membersCommand: Command = {
  name: "members",
  summary: "List the members of the cluster as the running node sees them",
  usage: "[--json]",
  run: (args, context) =>
    askNode({
      usage: "members [--json]",
      args,
      path: () => ({ path: "/cluster/members" }),
      async show(body) {
        const reply = (await loadReplyParsers()).members(body);
        return reply === undefined ? null : formatMembers(reply);
      },
    }, context),
};

/**
 * Write the member table for a terminal.
 *
 * @param reply What the node answered.
 */
export function formatMembers({ cluster, members }: MembersReply): string {
  const head = cluster === null
    ? "No cluster: this node works alone (set COVEY_CLUSTER_SECRET to found or join one)"
    : cluster.id === null
    ? "Cluster: its keys are still being derived"
    : `Cluster ${escapeUnprintable(cluster.id)}`;
  const shown = distinctNames(
    members.map(({ id, name }) => ({ id: id as NodeId, name })),
  );
  const rows = members.map((member) =>
    [
      member.self ? "*" : "",
      shown.get(member.id as NodeId) ?? member.name,
      describeHealth(member),
      member.tier ? String(member.tier) : "–",
      member.version ?? "–",
      member.addresses.join(" ") || "–",
      member.id,
    ].map(escapeUnprintable)
  );
  const titles = ["", "NAME", "HEALTH", "TIER", "VERSION", "ADDRESSES", "ID"];
  const notes = members.flatMap(({ id, name, note }) =>
    note
      ? [escapeUnprintable(`${shown.get(id as NodeId) ?? name}: ${note}`)]
      : []
  );
  return [head, formatTable([titles, ...rows]), ...notes].join("\n");
}

/** Health, with what sets a member apart from a working node. */
function describeHealth(
  { draining, health, role, state }: MembersReply["members"][number],
): string {
  return [
    health.toLowerCase(),
    ...(draining ? ["draining"] : []),
    ...(state === undefined || state === "member"
      ? []
      : [state.replaceAll("_", " ")]),
    ...(role === "controller" ? ["controller"] : []),
  ].join(", ");
}
