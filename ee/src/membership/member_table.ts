import { createHash } from "node:crypto";
import type { KeyHash } from "../identity/key_hash.ts";
import { COMMUNITY } from "../licence/seat_gate.ts";
import type { MemberRow } from "./member_row.ts";

/** Most rows a table holds. */
export const MOST_ROWS = 4096;

/** Rows by key hash. */
export type MemberTable = ReadonlyMap<KeyHash, MemberRow>;

/** A table after a merge. */
export interface Merged {
  readonly table: MemberTable;
  /** Rows that are new or replaced an older one. */
  readonly changed: readonly MemberRow[];
  /** Rows for which there was no room. */
  readonly dropped: number;
}

/**
 * Merge rows into a table: the higher `inc` wins, then removed wins, then an
 * order that is arbitrary but the same everywhere. No times are compared, so
 * any order of merges ends in the same table.
 *
 * @param table What is held.
 * @param rows What came.
 */
export function mergeRows(
  table: MemberTable,
  rows: readonly MemberRow[],
): Merged {
  const merged = new Map(table);
  const changed = new Map<KeyHash, MemberRow>();
  let dropped = 0;
  for (const row of rows) {
    const held = merged.get(row.keyHash);
    if (held === undefined && merged.size >= MOST_ROWS) {
      dropped++;
      continue;
    }
    if (held !== undefined && compareRows(row, held) <= 0) continue;
    merged.set(row.keyHash, row);
    changed.set(row.keyHash, row);
  }
  return { table: merged, changed: [...changed.values()], dropped };
}

/**
 * Digest a table, so that two members see without sending rows that they hold
 * the same ones.
 *
 * @returns 64 hexadecimal digits.
 */
export function digestTable(table: MemberTable): string {
  const hash = createHash("sha256");
  const rows = [...table.values()].sort((a, b) =>
    a.keyHash < b.keyHash ? -1 : 1
  );
  for (const row of rows) {
    hash.update(JSON.stringify([row.keyHash, row.inc, row.state, rest(row)]));
  }
  return hash.digest("hex");
}

/** Above zero when the first row replaces the second. */
function compareRows(a: MemberRow, b: MemberRow): number {
  if (a.inc !== b.inc) return a.inc - b.inc;
  if (a.state !== b.state) return a.state === "removed" ? 1 : -1;
  const [ours, theirs] = [rest(a), rest(b)];
  return ours === theirs ? 0 : ours > theirs ? 1 : -1;
}

/**
 * What breaks ties: a seat goes before none and a licence's before the
 * community's, so that a seat given later stays; and what an older version cut
 * off does not replace what is whole.
 */
function rest({ id, name, role, seat, tag }: MemberRow): string {
  const rank = seat === null ? 0 : seat === COMMUNITY ? 1 : 2;
  return JSON.stringify([
    rank,
    seat ?? "",
    role === "controller" ? 1 : 0,
    tag ?? "",
    name,
    id,
  ]);
}
