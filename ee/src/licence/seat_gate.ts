/** Members that may serve as candidates without a licence (`quota.lite.max_cluster_nodes`). */
export const COMMUNITY_SEATS = 2;

/** What the gate reads of a member row. */
export interface SeatRow {
  readonly keyHash: string;
  readonly name: string;
  readonly state: "member" | "removed";
  /** `community`, a licence id, or null for a row without a seat. */
  readonly seat: string | null;
}

/** The gate's decision; the reason is written for the newcomer's operator. */
export type SeatDecision =
  | { readonly kind: "seat"; readonly seat: string }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Decide whether a newcomer gets a seat. The admitting node decides alone and
 * writes the seat into the row; nobody judges it again.
 *
 * @param rows All rows the admitting node has, its own included.
 * @param newcomer Who asks; one that has a seat keeps it.
 * @returns The seat to write, or why there is none and what helps.
 */
export function decideSeat(
  rows: readonly SeatRow[],
  newcomer: { readonly keyHash: string; readonly name: string },
): SeatDecision {
  const members = rows.filter((row) => row.state === "member");
  const own = members.find((row) => row.keyHash === newcomer.keyHash);
  if (own !== undefined && own.seat !== null) {
    return { kind: "seat", seat: own.seat };
  }
  const seated = members.filter((row) => row.seat === "community");
  if (seated.length < COMMUNITY_SEATS) {
    return { kind: "seat", seat: "community" };
  }
  const names = seated.map((row) => JSON.stringify(row.name));
  const example = seated.at(-1)?.name ?? "NAME";
  return {
    kind: "refused",
    reason: `Failed to admit ${JSON.stringify(newcomer.name)}: ` +
      `the ${COMMUNITY_SEATS} community seats are taken by ${
        names.join(" and ")
      }. ` +
      `Remove one with \`covey remove ${example}\`, or add a licence with \`covey licence\``,
  };
}
