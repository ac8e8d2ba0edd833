import { Fault, findMembers } from "@covey/core/domain";
import type { MemberRow } from "../membership/member_row.ts";
import type { ActionMeans } from "./action_means.ts";

/**
 * Find the other member that an operator means.
 *
 * @param member Its id or name, as `covey members` shows it or as its row has it.
 * @param means Where to look.
 * @param own What to say when it is this node itself.
 * @throws {Fault} When no member, more than one, or this node goes by that name.
 */
export function findMember(
  member: string,
  means: Pick<ActionMeans, "host" | "membership" | "own" | "peers">,
  own: string,
): MemberRow {
  const { host, membership, peers } = means;
  const rows = membership.rows().filter(({ state }) => state === "member");
  const shown = rows.map((row) => ({
    id: row.id,
    name: row.keyHash === means.own
      ? host.node.name
      : peers.get(row.keyHash)?.monitor.name ?? row.name,
    row,
  }));
  const named = findMembers(shown, member).map(({ row }) => row);
  const found = named.length > 0 ? named : findMembers(rows, member);
  const [row] = found;
  if (row === undefined) {
    throw new Fault(
      "not_found",
      `No member is called "${member}"; \`covey members\` lists them`,
    );
  }
  if (found.length > 1) {
    throw new Fault(
      "invalid_request",
      `More than one member is called "${member}"; name one by its id: ${
        found.map(({ id }) => id).join(", ")
      }`,
    );
  }
  if (row.keyHash === means.own) throw new Fault("invalid_request", own);
  return row;
}
