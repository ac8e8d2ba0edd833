import { Fault, type JsonObject, type JsonValue } from "@covey/core/domain";
import type { MemberRow } from "../membership/member_row.ts";
import type { ActionMeans } from "./action_means.ts";
import { readRemove } from "./bodies.ts";
import { spreadNews } from "./spread_news.ts";

/**
 * Remove a member: its row becomes a tombstone on every member, and its
 * connections are closed there. To expel closes the door besides.
 *
 * @throws {Fault} When no member, or more than one, goes by that name.
 */
export async function remove(
  body: JsonObject,
  means: ActionMeans,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { audit, door, hasSecret, membership, peers } = means;
  const { expel, member } = readRemove(body);
  const { id, keyHash, name } = findMember(member, means);
  const tombstone = membership.tombstoneOf(keyHash);
  if (tombstone === undefined) {
    throw new Fault("not_found", `"${name}" is no member any more`);
  }
  if (expel) door.set("closed");
  const target = peers.get(keyHash);
  const others = peers.list().filter((peer) => peer !== target);
  const spread = spreadNews(means, others, [tombstone], signal);
  // Before its connections are closed: a node that knows does not knock on.
  if (target !== undefined) {
    await spreadNews(means, [target], [tombstone], signal);
  }
  membership.merge([tombstone], "here");
  audit.note({ event: "removed", name, id, expelled: expel, by: "here" });
  const { told, untold } = await spread;
  return {
    removed: { id, name },
    door: door.door.state,
    told,
    untold,
    message: !hasSecret
      ? `"${name}" is removed; only an invitation lets it return`
      : expel
      ? `"${name}" is removed and the door is closed: the secret alone lets nobody in until \`covey door open\` or a new secret`
      : `"${name}" is removed. A host that still knows the secret can return as a new member; \`covey remove --expel\` closes the door as well, and a new secret shuts it out for good`,
  };
}

function findMember(member: string, means: ActionMeans): MemberRow {
  const { membership, own, peers } = means;
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
  if (row.keyHash === own) {
    throw new Fault(
      "invalid_request",
      "That is this node itself; use `covey leave`",
    );
  }
  return row;
}
