import { Fault } from "@covey/core/domain";
import type { MemberRow } from "../membership/member_row.ts";
import type { ActionMeans } from "./action_means.ts";

/**
 * Find the other member that an operator means.
 *
 * @param member Its id or name.
 * @param means Where to look.
 * @param own What to say when it is this node itself.
 * @throws {Fault} When no member, more than one, or this node goes by that name.
 */
export function findMember(
  member: string,
  means: Pick<ActionMeans, "membership" | "own" | "peers">,
  own: string,
): MemberRow {
  const { membership, peers } = means;
  const wanted = member.toLowerCase();
  const rows = membership.rows().filter(({ state }) => state === "member");
  const byId = rows.filter(({ id }) => id === wanted);
  const named = rows.filter(({ keyHash, name }) =>
    name.toLowerCase() === wanted ||
    peers.get(keyHash)?.monitor.name.toLowerCase() === wanted
  );
  const found = byId.length > 0 ? byId : named;
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
