import type { NodeId } from "@covey/core/domain";

/** What a member says of a pull that it was asked about. */
export type Standing =
  | { readonly state: "none" }
  /** It has the very bytes. */
  | {
    readonly state: "has";
    readonly model: string;
    readonly root: string;
    /** Root of what goes with it, a vision part say; absent for nothing. */
    readonly companions?: string;
  }
  /** It asks around just now, as the one who asks it does. */
  | { readonly state: "bidding" }
  /** It fetches them from their source. */
  | {
    readonly state: "fetching";
    readonly doneBytes: number;
    readonly totalBytes: number | null;
  }
  /** It waits for another member, or copies from one. */
  | { readonly state: "waiting" }
  /** It did not answer. */
  | { readonly state: "silent" };

/** A member, and what it says. */
export interface MemberStanding {
  readonly node: NodeId;
  readonly name: string;
  readonly standing: Standing;
}

/** What is to be done about a pull. */
export type Election =
  | {
    readonly kind: "copy";
    readonly root: string;
    /** Root of what goes with it; absent for nothing. */
    readonly companions?: string;
  }
  | {
    readonly kind: "wait";
    readonly node: NodeId;
    readonly name: string;
    readonly doneBytes: number;
    readonly totalBytes: number | null;
  }
  | { readonly kind: "fetch" };

/** What an election is held on. */
export interface Electorate {
  readonly self: NodeId;
  readonly members: readonly MemberStanding[];
  /** Nodes that asked this one about the same while it asked around. */
  readonly bidders: ReadonlySet<NodeId>;
  /** The member that was waited for until now, or null. */
  readonly leader: NodeId | null;
  /** Roots that could not be copied. */
  readonly spoilt: ReadonlySet<string>;
}

/**
 * Decide who fetches what several nodes want, such that one of them does. Who
 * fetches already stays the one; among those who ask around at the same time it
 * is the smallest id. Of any two of these, at least one hears of the other:
 * each bids before it asks, and takes notice of who asks it while it does.
 *
 * @param electorate What is known, all of it by one round of questions.
 */
export function elect(
  { bidders, leader, members, self, spoilt }: Electorate,
): Election {
  const sorted = members.toSorted((a, b) => a.node < b.node ? -1 : 1);
  for (const { standing } of sorted) {
    if (standing.state !== "has" || spoilt.has(standing.root)) continue;
    const { root } = standing;
    const along = sorted.find((one) =>
      one.standing.state === "has" && one.standing.root === root &&
      one.standing.companions !== undefined
    )?.standing;
    return along?.state === "has" && along.companions !== undefined
      ? { kind: "copy", root, companions: along.companions }
      : { kind: "copy", root };
  }
  for (const { name, node, standing } of sorted) {
    if (standing.state !== "fetching") continue;
    const { doneBytes, totalBytes } = standing;
    return { kind: "wait", node, name, doneBytes, totalBytes };
  }
  const first = sorted.find(({ node, standing }) =>
    // One that was waited for may be too busy to answer: its health tells
    // whether it is gone, and then it is not asked any more.
    (node === leader && standing.state === "silent") ||
    (node < self && (standing.state === "bidding" || bidders.has(node)))
  );
  return first === undefined ? { kind: "fetch" } : {
    kind: "wait",
    node: first.node,
    name: first.name,
    doneBytes: 0,
    totalBytes: null,
  };
}
