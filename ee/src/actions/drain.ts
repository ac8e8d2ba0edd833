import { Fault, type JsonObject, type JsonValue } from "@covey/core/domain";
import { askDrain } from "../membership/drain_call.ts";
import type { ActionMeans } from "./action_means.ts";
import { readDrain } from "./bodies.ts";
import { findMember } from "./find_member.ts";

/**
 * Have another member take no more work, or take it again. It keeps that over
 * its restarts; this node knows it once this resolves, the others at once.
 *
 * @throws {Fault} When no member goes by that name, or it does not do it.
 */
export async function drain(
  body: JsonObject,
  means: ActionMeans,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { audit, peers, platform: { clock } } = means;
  const { draining, member } = readDrain(body);
  const { id, keyHash, name } = findMember(
    member,
    means,
    "That is this node itself: its own API drains it",
  );
  const peer = peers.get(keyHash);
  const outcome = peer === undefined
    ? { kind: "unreachable" } as const
    : await askDrain(peer.channel, draining, { clock, signal });
  const what = draining ? "drained" : "taken back";
  switch (outcome.kind) {
    case "done":
      break;
    case "too_old":
      throw new Fault(
        "not_implemented",
        `"${name}" can not be ${what} from here: it runs a version of Covey that knows no such request; update it, or ask that node itself`,
      );
    case "unreachable":
      throw new Fault(
        "link_failed",
        `"${name}" can not be reached, so it was not ${what}; it is given no work while it is off line, and \`covey remove\` takes it out for good`,
      );
    default:
      return outcome satisfies never;
  }
  audit.note({ event: "drain", draining, name, id, by: "here" });
  await peer?.monitor.refreshed(signal);
  return { member: { id, name }, draining };
}
