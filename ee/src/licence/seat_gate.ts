/**
 * A seat is written into a member's row by whoever admits it, and counts
 * everywhere from then on: the community's two, or one of the admitting node's
 * licence. Licences are checked offline against the keys in `licence_keys.ts`; no
 * variable adds a key, and tests run a main module of their own. Rows of
 * controllers count for nothing. Where merged halves have more than two community
 * seats, the two smallest key hashes keep them, which every member computes alike;
 * two licensed halves that each admitted up to their number keep all. A full
 * cluster gives a reinstalled machine the seat of its own off-line row, known by
 * an HMAC of its serial number under the cluster's id.
 *
 * @module
 */
import { isOver, type Licence } from "./licence.ts";

/** Members that may serve as candidates without a licence (`quota.lite.max_cluster_nodes`). */
export const COMMUNITY_SEATS = 2;

/** The seat of the community quota, as a row names it. */
export const COMMUNITY = "community";

/** What the gate reads of a member row. */
export interface SeatRow {
  readonly keyHash: string;
  readonly name: string;
  readonly state: "member" | "removed";
  /** `community`, a licence id, or null for a row without a seat. */
  readonly seat: string | null;
  /** A controller never works, takes no seat and does not count; absent for a node. */
  readonly role?: "node" | "controller";
  /** What tells the machine again under another identity, where it is known. */
  readonly tag?: string;
}

/** What the admitting node knows when it decides. */
export interface SeatView {
  /** All rows of both sides, its own included. */
  readonly rows: readonly SeatRow[];
  /** Its own licence, checked, or null. */
  readonly licence: Licence | null;
  /** Its own wall clock, for the licence's last day. */
  readonly nowMs: number;
  /** Whether it holds a member to be off line. */
  isOffline(keyHash: string): boolean;
}

/** Who asks for a seat. */
export type SeatSeeker = Pick<SeatRow, "keyHash" | "name" | "role" | "tag">;

/** The gate's decision; the reason is written for both operators. */
export type SeatDecision =
  | {
    readonly kind: "seated";
    /** Seats to write, by key hash: the newcomer's, and others' that change with it. */
    readonly seats: ReadonlyMap<string, string | null>;
    /** Key hash of the row whose machine this is under another identity: it is removed. */
    readonly replaced: string | null;
  }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Decide whether a newcomer gets a seat. The admitting node decides alone and
 * writes seats into the rows; nobody judges them again. Whoever has a seat
 * keeps it.
 *
 * @param view What the admitting node knows.
 * @param self The admitting node: as a founder it may have no seat yet.
 * @param newcomer Who asks.
 */
export function decideSeats(
  view: SeatView,
  self: SeatSeeker,
  newcomer: SeatSeeker,
): SeatDecision {
  const rows = view.rows.filter((row) => row.state === "member");
  const all = seekersIn(rows, [self, newcomer]);
  const seats = share(all, view);
  if (seats !== undefined) {
    return {
      kind: "seated",
      seats: withNewcomer(seats, all, newcomer),
      replaced: null,
    };
  }
  const former = all.find((row) =>
    row.tag !== undefined && row.tag === newcomer.tag &&
    row.keyHash !== newcomer.keyHash && row.keyHash !== self.keyHash &&
    view.isOffline(row.keyHash)
  );
  if (former !== undefined) {
    const left = all.filter((row) => row !== former);
    const shared = share(left, view);
    if (shared !== undefined) {
      return {
        kind: "seated",
        seats: withNewcomer(shared, left, newcomer),
        replaced: former.keyHash,
      };
    }
  }
  return {
    kind: "refused",
    reason: refusal(view, newcomer, all.filter(isCandidate)),
  };
}

/**
 * Seats for members that a merge left without one, by a licence that was
 * added later.
 *
 * @param view What the licensed node knows.
 * @returns Seats to write, by key hash; none when the licence has no room for all.
 */
export function seatUnseated(
  view: Pick<SeatView, "rows" | "licence" | "nowMs">,
): ReadonlyMap<string, string | null> {
  const rows = view.rows.filter((row) => row.state === "member");
  return share(rows, view) ?? new Map();
}

/**
 * The members that keep the community's seats when more than those came
 * together: the same wherever it is asked.
 *
 * @param rows Rows of members.
 * @returns Key hashes of those beyond.
 */
export function beyondCommunity(rows: readonly SeatRow[]): readonly string[] {
  return rows.filter((row) => isCandidate(row) && row.seat === COMMUNITY)
    .map(({ keyHash }) => keyHash).sort().slice(COMMUNITY_SEATS);
}

function isCandidate(row: SeatRow): boolean {
  // A row that has a seat counts even where its node now calls itself otherwise.
  return row.seat !== null || row.role !== "controller";
}

/** Rows with the two parties of an admission among them, each as it now is. */
function seekersIn(
  rows: readonly SeatRow[],
  parties: readonly SeatSeeker[],
): readonly SeatRow[] {
  const all = new Map(rows.map((row) => [row.keyHash, row]));
  for (const { keyHash, name, role, tag } of parties) {
    const held = all.get(keyHash);
    all.set(keyHash, {
      keyHash,
      name,
      state: "member",
      seat: held?.seat ?? null,
      ...role === undefined ? {} : { role },
      ...tag === undefined ? {} : { tag },
    });
  }
  return [...all.values()];
}

/** Seats that change so that all candidates have one, or undefined when there are too few. */
function share(
  rows: readonly SeatRow[],
  { licence, nowMs }: Pick<SeatView, "licence" | "nowMs">,
): ReadonlyMap<string, string | null> | undefined {
  const candidates = rows.filter(isCandidate);
  const beyond = beyondCommunity(candidates);
  const without = candidates.filter(({ seat }) => seat === null);
  const free = Math.max(
    0,
    COMMUNITY_SEATS -
      candidates.filter(({ seat }) => seat === COMMUNITY).length,
  );
  const licensed = licence !== null && !isOver(licence, nowMs) &&
      candidates.length <= (licence.maxClusterNodes ?? Infinity)
    ? licence.id
    : undefined;
  const seats = new Map<string, string | null>();
  for (const [index, { keyHash }] of without.entries()) {
    const seat = index < free ? COMMUNITY : licensed;
    if (seat === undefined) return undefined;
    seats.set(keyHash, seat);
  }
  for (const keyHash of beyond) {
    if (licensed === undefined) return undefined;
    seats.set(keyHash, licensed);
  }
  return seats;
}

function withNewcomer(
  seats: ReadonlyMap<string, string | null>,
  rows: readonly SeatRow[],
  { keyHash }: SeatSeeker,
): ReadonlyMap<string, string | null> {
  const held = rows.find((row) => row.keyHash === keyHash)?.seat ?? null;
  return new Map([[keyHash, held], ...seats]);
}

function refusal(
  { isOffline, licence, nowMs }: SeatView,
  newcomer: SeatSeeker,
  candidates: readonly SeatRow[],
): string {
  const seated = candidates.filter(({ keyHash, seat }) =>
    seat !== null && keyHash !== newcomer.keyHash
  );
  const away = seated.filter(({ keyHash }) => isOffline(keyHash));
  const example = (away[0] ?? seated.at(-1))?.name ?? "NAME";
  const offline = away.length === 0 ? "" : `; off line: ${list(away)}`;
  return `Failed to admit ${JSON.stringify(newcomer.name)}: ${
    shortage(licence, nowMs, candidates.length)
  } (taken by ${
    list(seated)
  }${offline}). Remove one with \`covey remove ${example}\`, ` +
    "or set COVEY_LICENCE to a licence for more nodes on a member";
}

function shortage(
  licence: Licence | null,
  nowMs: number,
  count: number,
): string {
  const quota = `the ${COMMUNITY_SEATS} community seats do not suffice`;
  if (licence === null) return `${quota} for ${count} nodes`;
  const name = `licence ${JSON.stringify(licence.id)}`;
  if (isOver(licence, nowMs)) {
    return `${quota} for ${count} nodes, and ${name} is over by the admitting node's clock`;
  }
  return `${name} allows ${licence.maxClusterNodes} nodes, and this would be number ${count}`;
}

const MOST_NAMES = 8;

function list(rows: readonly SeatRow[]): string {
  const names = rows.slice(0, MOST_NAMES).map(({ name }) =>
    JSON.stringify(name)
  );
  const more = rows.length - names.length;
  if (more > 0) names.push(`${more} more`);
  return names.length === 0 ? "nobody" : names.join(", ");
}
