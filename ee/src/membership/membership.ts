import type { Log, NodeId } from "@covey/core/domain";
import type { KeyHash } from "../identity/key_hash.ts";
import { decideSeat } from "../licence/seat_gate.ts";
import type { MemberRow } from "./member_row.ts";
import { digestTable, type MemberTable, mergeRows } from "./member_table.ts";
import { judgeRows, type RowStanding } from "./row_standing.ts";

/** Who a node says it is. */
export interface Applicant {
  readonly id: NodeId;
  readonly keyHash: KeyHash;
  readonly name: string;
}

/** What the owner of the table needs. */
export interface MembershipOptions {
  readonly self: Applicant;
  /** Rows of the last run. */
  readonly rows: readonly MemberRow[];
  readonly log: Log;
  /** Called after every change. */
  onChange(): void;
}

/** A newcomer's row, or why there is none. */
export type SeatResult =
  | { readonly kind: "admitted"; readonly row: MemberRow }
  | { readonly kind: "refused"; readonly reason: string };

/** The member table's only writer. */
export class Membership {
  readonly #options: MembershipOptions;
  #table: MemberTable;
  #standings: ReadonlyMap<KeyHash, RowStanding>;
  #digest: string;
  #fullTold = false;

  constructor(options: MembershipOptions) {
    const { rows, self } = options;
    this.#options = options;
    this.#table = mergeRows(new Map(), rows).table;
    if (!this.#table.has(self.keyHash)) {
      this.#table = mergeRows(this.#table, [rowOf(self, 1, null)]).table;
    }
    this.#standings = judgeRows(this.#table);
    this.#digest = digestTable(this.#table);
  }

  /** All rows, this node's included. */
  rows(): readonly MemberRow[] {
    return [...this.#table.values()];
  }

  /** Rows of others who may speak here. */
  peers(): readonly MemberRow[] {
    return this.rows().filter(({ keyHash }) =>
      keyHash !== this.#options.self.keyHash &&
      this.memberOf(keyHash) !== undefined
    );
  }

  /** Digest of all rows. */
  get digest(): string {
    return this.#digest;
  }

  /** What a key's row is worth; undefined without a row. */
  standing(keyHash: KeyHash): RowStanding | undefined {
    return this.#standings.get(keyHash);
  }

  /**
   * The member that a key belongs to, for the link to ask at every request.
   *
   * @returns Its id, or undefined when the key may not speak here.
   */
  memberOf(keyHash: KeyHash): NodeId | undefined {
    const standing = this.#standings.get(keyHash);
    return standing === "member" || standing === "unseated"
      ? this.#table.get(keyHash)?.id
      : undefined;
  }

  /** Key hash of the member with an id, where there is one. */
  keyOf(id: NodeId): KeyHash | undefined {
    return this.rows().find((row) =>
      row.id === id && this.memberOf(row.keyHash) !== undefined
    )?.keyHash;
  }

  /**
   * Merge rows that a member sent.
   *
   * @param rows What it holds.
   * @param from Its name, for the log.
   */
  merge(rows: readonly MemberRow[], from: string): void {
    const { log, self } = this.#options;
    const { changed, dropped, table } = mergeRows(this.#table, rows);
    if (dropped > 0 && !this.#fullTold) {
      this.#fullTold = true;
      log.error("The member table is full; further rows are left out", {
        from,
        dropped,
      });
    }
    if (changed.length === 0) return;
    const before = this.#standings;
    this.#table = table;
    this.#standings = judgeRows(table);
    this.#digest = digestTable(table);
    for (const [keyHash, standing] of this.#standings) {
      const row = table.get(keyHash);
      if (before.get(keyHash) === standing || row === undefined) continue;
      this.#tell(row, standing, from);
    }
    if (this.#standings.get(self.keyHash) === "removed") {
      log.warn("This node was removed from the cluster", { from });
    }
    this.#options.onChange();
  }

  /**
   * Decide on a node that proved the password, and write its row. Its own
   * cluster's rows count, so that two halves that each used all their seats
   * do not become one that has too many.
   *
   * @param applicant Who it is.
   * @param theirRows The rows it brings.
   */
  seat(applicant: Applicant, theirRows: readonly MemberRow[]): SeatResult {
    const { self } = this.#options;
    const held = this.#table.get(applicant.keyHash);
    const problem = this.#problemWith(applicant);
    if (problem !== undefined) return { kind: "refused", reason: problem };
    const union = mergeRows(this.#table, theirRows).table;
    const known = [...union.values()].filter(({ keyHash }) =>
      keyHash !== applicant.keyHash || held !== undefined
    );
    const own = decideSeat(known, self);
    if (own.kind === "refused") return own;
    const seated = known.map((row) =>
      row.keyHash === self.keyHash ? { ...row, seat: own.seat } : row
    );
    const seat = decideSeat(seated, applicant);
    if (seat.kind === "refused") return seat;
    const row = rowOf(applicant, held?.inc ?? 1, seat.seat);
    const ownRow = this.#table.get(self.keyHash);
    this.merge(
      ownRow === undefined ? [row] : [{ ...ownRow, seat: own.seat }, row],
      applicant.name,
    );
    return { kind: "admitted", row };
  }

  #problemWith({ id, keyHash, name }: Applicant): string | undefined {
    if (this.#table.get(keyHash)?.state === "removed") {
      return `Failed to admit "${name}": it was removed from this cluster; reset its identity with \`covey identity reset\` to return as a new member`;
    }
    const holder = this.rows().find((row) =>
      row.id === id && row.keyHash !== keyHash && row.state === "member"
    );
    return holder === undefined
      ? undefined
      : `Failed to admit "${name}": identity changed, its id "${id}" is pinned to another key; remove the old one with \`covey remove ${holder.name}\``;
  }

  #tell(row: MemberRow, standing: RowStanding, from: string): void {
    const { log } = this.#options;
    const fields = { member: row.name, id: row.id, from };
    switch (standing) {
      case "member":
        return log.info("A node is a member now", fields);
      case "removed":
        return log.info("A member was removed", fields);
      case "identity_changed":
        return log.warn("A member's identity changed; it is refused", fields);
      case "unseated":
        return log.warn(
          "A member has no seat: more nodes than the community seats allow came together; it takes and gives no work. Remove one with `covey remove NAME` or add a licence",
          fields,
        );
      default:
        return standing satisfies never;
    }
  }
}

function rowOf(
  { id, keyHash, name }: Applicant,
  inc: number,
  seat: string | null,
): MemberRow {
  return { id, keyHash, name, inc, state: "member", seat };
}
