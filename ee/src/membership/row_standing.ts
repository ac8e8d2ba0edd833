import type { NodeId } from "@covey/core/domain";
import type { KeyHash } from "../identity/key_hash.ts";
import { beyondCommunity } from "../licence/seat_gate.ts";
import type { MemberRow } from "./member_row.ts";
import type { MemberTable } from "./member_table.ts";

/** What a row is worth. */
export type RowStanding =
  | "member"
  | "removed"
  /** Its id belongs to another key: it may not speak. */
  | "identity_changed"
  /** A member beyond the community seats, after a merge of two halves: it takes and gives no work. */
  | "unseated";

/**
 * Judge every row, from the table alone, so that all members judge alike.
 *
 * @param table The rows.
 * @returns The standing by key hash.
 */
export function judgeRows(
  table: MemberTable,
): ReadonlyMap<KeyHash, RowStanding> {
  const standings = new Map<KeyHash, RowStanding>();
  const holders = new Map<NodeId, MemberRow>();
  for (const row of table.values()) {
    if (row.state === "removed") {
      standings.set(row.keyHash, "removed");
      continue;
    }
    const held = holders.get(row.id);
    if (held === undefined || precedes(row, held)) holders.set(row.id, row);
  }
  const unseated = new Set(beyondCommunity([...holders.values()]));
  for (const row of table.values()) {
    if (row.state === "removed") continue;
    standings.set(
      row.keyHash,
      holders.get(row.id) !== row
        ? "identity_changed"
        : unseated.has(row.keyHash)
        ? "unseated"
        : "member",
    );
  }
  return standings;
}

/** Whether a row holds an id against another one: re-admission first, then the smaller key hash. */
function precedes(row: MemberRow, other: MemberRow): boolean {
  return row.inc === other.inc
    ? row.keyHash < other.keyHash
    : row.inc > other.inc;
}
