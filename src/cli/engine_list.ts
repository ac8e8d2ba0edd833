import {
  escapeUnprintable,
  isJsonObject,
  type PackChoice,
} from "../domain/mod.ts";
import type { ApiReply } from "./command.ts";
import { formatTable } from "./table.ts";

const STATES: Readonly<Record<PackChoice["state"], string>> = {
  installed: "installed",
  available: "available",
  other_machine: "for other machines",
};

/**
 * Read who has packs from what the node answered to `GET /covey/packs`.
 *
 * @param reply The answer; where there is none, as without a node that runs, nobody is known.
 * @returns Names of members by pack.
 */
export function packHolders(
  reply: ApiReply,
): ReadonlyMap<string, readonly string[]> {
  const packs = reply.kind === "answered" && isJsonObject(reply.body)
    ? reply.body["packs"]
    : null;
  if (!Array.isArray(packs)) return new Map();
  return new Map(
    packs.filter(isJsonObject).map(({ members, name }) => [
      String(name),
      Array.isArray(members)
        ? members.filter((one) => typeof one === "string")
        : [],
    ]),
  );
}

/**
 * Write packs for a terminal.
 *
 * @param packs Every pack, with the members that have it.
 */
export function formatPacks(packs: readonly PackChoice[]): string {
  const rows = packs.map((pack) => [
    pack.name,
    STATES[pack.state],
    `${Math.round(pack.sizeBytes / 1e6)} MB`,
    escapeUnprintable(sourcesOf(pack)),
    pack.cards,
  ]);
  const titles = ["PACK", "STATE", "SIZE", "FROM", "FOR"];
  return formatTable([titles, ...rows], [2]);
}

/** Where it could be had now. */
function sourcesOf({ members, state }: PackChoice): string {
  return state === "other_machine" ? "" : ["npm", ...members].join(", ");
}
