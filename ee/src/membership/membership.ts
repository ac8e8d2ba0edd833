import type { Log, NodeId } from "@covey/core/domain";
import type { KeyHash } from "../identity/key_hash.ts";
import type { Licence } from "../licence/licence.ts";
import { decideSeats, seatUnseated } from "../licence/seat_gate.ts";
import type { MemberRole, MemberRow } from "./member_row.ts";
import { digestTable, type MemberTable, mergeRows } from "./member_table.ts";
import { judgeRows, type RowStanding } from "./row_standing.ts";

/** Who a node says it is. */
export interface Applicant {
  readonly id: NodeId;
  readonly keyHash: KeyHash;
  readonly name: string;
  /** Absent for a node. */
  readonly role?: MemberRole;
  /** Machine tag, where the machine is known. */
  readonly tag?: string;
}

/** What this node goes by when it gives seats. */
export interface SeatOffice {
  /** Its own licence, checked, or null. */
  readonly licence: Licence | null;
  /** Its own wall clock. */
  nowMs(): number;
  /** Whether it holds a member to be off line. */
  isOffline(keyHash: KeyHash): boolean;
}

/** Without a licence, and with everybody held to be there. */
const STRICT: SeatOffice = {
  licence: null,
  nowMs: () => 0,
  isOffline: () => false,
};

/** What the owner of the table needs. */
export interface MembershipOptions {
  readonly self: Applicant;
  /** Rows of the last run. */
  readonly rows: readonly MemberRow[];
  readonly log: Log;
  /** How it gives seats; without it the community quota counts and no row is replaced. */
  readonly seats?: SeatOffice;
  /** Called after every change. */
  onChange(): void;
  /** Called when a row is worth something else than before. */
  onStanding?(row: MemberRow, standing: RowStanding, from: string): void;
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
    this.#table = this.#licensed(this.#table);
    this.#standings = judgeRows(this.#table);
    this.#digest = digestTable(this.#table);
  }

  /** This node's own row. */
  get own(): MemberRow {
    const { self } = this.#options;
    return this.#table.get(self.keyHash) ?? rowOf(self, 1, null);
  }

  /**
   * Whether this node has peers and no seat among them: it was let in as a
   * controller and is a node now. It has to ask again.
   */
  get wantsSeat(): boolean {
    return this.#options.self.role !== "controller" &&
      this.own.state === "member" && this.own.seat === null &&
      this.peers().length > 0;
  }

  /** All rows, this node's included. */
  rows(): readonly MemberRow[] {
    return [...this.#table.values()];
  }

  /** A key's row, or undefined. */
  rowOf(keyHash: KeyHash): MemberRow | undefined {
    return this.#table.get(keyHash);
  }

  /** Rows of others who may speak here. */
  peers(): readonly MemberRow[] {
    // Who was removed has nobody left to talk to.
    if (this.own.state === "removed") return [];
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

  /** Whether a member may be given work: it has a seat that counts. */
  mayWork(keyHash: KeyHash): boolean {
    return this.mayGive(keyHash) &&
      (this.#table.get(keyHash)?.seat ?? null) !== null;
  }

  /** Whether a member may give work to others: controllers may, the unseated not. */
  mayGive(keyHash: KeyHash): boolean {
    return this.#standings.get(keyHash) === "member";
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
    this.#table = this.#licensed(table);
    this.#standings = judgeRows(this.#table);
    this.#digest = digestTable(this.#table);
    for (const [keyHash, standing] of this.#standings) {
      const row = this.#table.get(keyHash);
      if (before.get(keyHash) === standing || row === undefined) continue;
      this.#tell(row, standing, from);
    }
    if (this.#standings.get(self.keyHash) === "removed") {
      log.warn("This node was removed from the cluster", { from });
    }
    this.#options.onChange();
  }

  /**
   * The row of a key as a tombstone.
   *
   * @returns The row, or undefined where there is no member of that key.
   */
  tombstoneOf(keyHash: KeyHash): MemberRow | undefined {
    const row = this.#table.get(keyHash);
    return row?.state === "member" ? { ...row, state: "removed" } : undefined;
  }

  /**
   * Decide on a node that proved the password, and write its row. Its own
   * cluster's rows count, so that two halves that each used all their seats
   * do not become one that has too many.
   *
   * @param applicant Who it is.
   * @param theirRows The rows it brings.
   * @param invited Whether an operator asked for it: then a removed identity
   *   may return, as the next incarnation.
   */
  seat(
    applicant: Applicant,
    theirRows: readonly MemberRow[],
    invited: "invited" | "unasked" = "unasked",
  ): SeatResult {
    const { log, self } = this.#options;
    const held = this.#table.get(applicant.keyHash);
    const returns = held?.state === "removed" && invited === "invited";
    const problem = this.#problemWith(applicant, returns);
    if (problem !== undefined) return { kind: "refused", reason: problem };
    if (
      held?.state === "member" && held.seat !== null && this.own.seat !== null
    ) return { kind: "admitted", row: held };
    const { isOffline, licence, nowMs } = this.#seats;
    const union = mergeRows(this.#table, theirRows).table;
    const decision = decideSeats(
      {
        rows: [...union.values()],
        licence,
        nowMs: nowMs(),
        isOffline: (keyHash) => isOffline(keyHash as KeyHash),
      },
      self,
      applicant,
    );
    if (decision.kind === "refused") return decision;
    const { replaced, seats } = decision;
    const row = rowOf(
      applicant,
      (held?.inc ?? 1) + (returns ? 1 : 0),
      seats.get(applicant.keyHash) ?? null,
    );
    // Only what was decided is written: what else the newcomer brings comes by
    // the first status, as of any member.
    const changed = [...union.values()].flatMap((one): MemberRow[] => {
      if (one.keyHash === applicant.keyHash) return [];
      if (one.keyHash === replaced) return [{ ...one, state: "removed" }];
      const seat = seats.get(one.keyHash);
      return seat === undefined ? [] : [{ ...one, seat }];
    });
    const own = changed.some(({ keyHash }) => keyHash === self.keyHash)
      ? []
      : [this.own];
    if (replaced !== null) {
      log.info(
        "A machine came back under another identity and takes its seat",
        {
          name: applicant.name,
          instead: this.#table.get(replaced as KeyHash)?.name,
        },
      );
    }
    this.merge([...own, ...changed, row], applicant.name);
    return { kind: "admitted", row };
  }

  get #seats(): SeatOffice {
    return this.#options.seats ?? STRICT;
  }

  /** The table with seats of this node's licence for those that a merge left without one. */
  #licensed(table: MemberTable): MemberTable {
    const { licence, nowMs } = this.#seats;
    if (licence === null) return table;
    const rows = [...table.values()];
    if (rows.filter(({ state }) => state === "member").length < 2) return table;
    const seats = seatUnseated({ rows, licence, nowMs: nowMs() });
    return mergeRows(
      table,
      rows.flatMap((row) => {
        const seat = seats.get(row.keyHash);
        return seat === undefined ? [] : [{ ...row, seat }];
      }),
    ).table;
  }

  #problemWith(
    { id, keyHash, name }: Applicant,
    returns: boolean,
  ): string | undefined {
    if (this.#table.get(keyHash)?.state === "removed" && !returns) {
      return `Failed to admit "${name}": it was removed from this cluster; invite it with \`covey invite\`, or reset its identity with \`covey identity reset\` to return as a new member`;
    }
    const holder = this.rows().find((row) =>
      row.id === id && row.keyHash !== keyHash && row.state === "member"
    );
    return holder === undefined
      ? undefined
      : `Failed to admit "${name}": identity changed, its id "${id}" is pinned to another key; remove the old one with \`covey remove ${holder.name}\``;
  }

  #tell(row: MemberRow, standing: RowStanding, from: string): void {
    this.#options.onStanding?.(row, standing, from);
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
          "A member has no seat: more nodes than the community seats allow came together; it takes and gives no work. remove one with `covey remove NAME`, or set COVEY_LICENCE to a licence for more nodes on a member",
          fields,
        );
      default:
        return standing satisfies never;
    }
  }
}

function rowOf(
  { id, keyHash, name, role, tag }: Applicant,
  inc: number,
  seat: string | null,
): MemberRow {
  return {
    id,
    keyHash,
    name,
    inc,
    state: "member",
    seat,
    ...role === "controller" ? { role } : {},
    ...tag === undefined ? {} : { tag },
  };
}
