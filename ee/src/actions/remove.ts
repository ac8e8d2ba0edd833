import { Fault, type JsonObject, type JsonValue } from "@covey/core/domain";
import type { ActionMeans } from "./action_means.ts";
import { readRemove } from "./bodies.ts";
import { findMember } from "./find_member.ts";
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
  const { id, keyHash, name } = findMember(
    member,
    means,
    "That is this node itself; use `covey leave`",
  );
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
