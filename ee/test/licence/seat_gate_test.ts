import assert from "node:assert/strict";
import type { Licence } from "../../src/licence/licence.ts";
import {
  beyondCommunity,
  decideSeats,
  type SeatRow,
  seatUnseated,
  type SeatView,
} from "../../src/licence/seat_gate.ts";

function row(name: string, changes: Partial<SeatRow> = {}): SeatRow {
  return {
    keyHash: `hash of ${name}`,
    name,
    state: "member",
    seat: "community",
    ...changes,
  };
}

function licenceFor(maxClusterNodes: number | null): Licence {
  return { id: "L-7", holder: "Lab", maxClusterNodes, notAfterMs: 1000 };
}

function viewOf(
  rows: readonly SeatRow[],
  { away = [], licence = null, nowMs = 0 }: {
    away?: readonly string[];
    licence?: Licence | null;
    nowMs?: number;
  } = {},
): SeatView {
  return {
    rows,
    licence,
    nowMs,
    isOffline: (keyHash) => away.some((name) => keyHash === `hash of ${name}`),
  };
}

const ALPHA = row("alpha");
const BETA = row("beta");
const GAMMA = { keyHash: "hash of gamma", name: "gamma" };

function seatsOf(
  view: SeatView,
  newcomer: Parameters<typeof decideSeats>[2] = GAMMA,
) {
  const decision = decideSeats(view, ALPHA, newcomer);
  if (decision.kind === "refused") return decision.reason;
  return {
    ...Object.fromEntries(decision.seats),
    ...decision.replaced === null ? {} : { replaced: decision.replaced },
  };
}

Deno.test("decideSeats gives the founder and one more a community seat, and refuses the third", () => {
  const founder = row("alpha", { seat: null });
  assert.deepEqual(seatsOf(viewOf([founder])), {
    "hash of alpha": "community",
    "hash of gamma": "community",
  });
  assert.deepEqual(seatsOf(viewOf([ALPHA])), { "hash of gamma": "community" });
  assert.equal(
    seatsOf(viewOf([ALPHA, BETA], { away: ["beta"] })),
    'Failed to admit "gamma": the 2 community seats do not suffice for 3 nodes ' +
      '(taken by "alpha", "beta"; off line: "beta"). Remove one with `covey remove beta`, ' +
      "or set COVEY_LICENCE to a licence for more nodes on a member",
  );
});

Deno.test("decideSeats counts nodes on line or not, and no removed rows and no controllers", () => {
  const rows = [
    ALPHA,
    row("beta", { state: "removed" }),
    row("delta", { seat: null, role: "controller" }),
  ];
  assert.deepEqual(seatsOf(viewOf(rows)), { "hash of gamma": "community" });
  assert.deepEqual(
    seatsOf(viewOf([ALPHA, BETA]), { ...GAMMA, role: "controller" }),
    { "hash of gamma": null },
  );
  // Who has a seat counts, whatever it calls itself since.
  const turned = row("beta", { role: "controller" });
  assert.match(String(seatsOf(viewOf([ALPHA, turned]))), /do not suffice/);
  // A removed one that asks again needs a seat like any other.
  const back = row("gamma", { state: "removed" });
  assert.match(String(seatsOf(viewOf([ALPHA, BETA, back]))), /do not suffice/);
});

Deno.test("decideSeats gives seats of the admitting node's licence, up to its number and its last day", () => {
  const three = licenceFor(3);
  assert.deepEqual(seatsOf(viewOf([ALPHA, BETA], { licence: three })), {
    "hash of gamma": "L-7",
  });
  const full = [ALPHA, BETA, row("delta", { seat: "L-7" })];
  assert.match(
    String(seatsOf(viewOf(full, { licence: three }))),
    /licence "L-7" allows 3 nodes, and this would be number 4/,
  );
  assert.deepEqual(seatsOf(viewOf(full, { licence: licenceFor(null) })), {
    "hash of gamma": "L-7",
  });
  assert.match(
    String(seatsOf(viewOf(full, { licence: licenceFor(null), nowMs: 1001 }))),
    /over by the admitting node's clock/,
  );
});

Deno.test("decideSeats gives a machine under another identity the seat of its off-line row, where there is no other", () => {
  const tag = "a".repeat(32);
  const former = row("beta", { tag });
  const again = { ...GAMMA, tag };
  assert.deepEqual(
    seatsOf(viewOf([ALPHA, former], { away: ["beta"] }), again),
    { "hash of gamma": "community", replaced: "hash of beta" },
  );
  assert.match(
    String(seatsOf(viewOf([ALPHA, former]), again)),
    /do not suffice/,
    "a row that is on line is another machine",
  );
  assert.deepEqual(
    seatsOf(viewOf([ALPHA, row("beta", { state: "removed", tag })]), again),
    { "hash of gamma": "community" },
  );
});

Deno.test("decideSeats refuses halves that come together with too many seats, or licenses those beyond", () => {
  const theirs = [row("gamma"), row("delta")];
  const rows = [ALPHA, BETA, ...theirs];
  assert.match(String(seatsOf(viewOf(rows))), /do not suffice for 4 nodes/);
  assert.deepEqual(seatsOf(viewOf(rows, { licence: licenceFor(4) })), {
    "hash of gamma": "L-7",
    "hash of delta": "L-7",
  });
});

Deno.test("beyondCommunity leaves the smallest key hashes; seatUnseated seats the others once there is a licence", () => {
  const rows = [row("d"), row("a"), row("c"), row("b", { seat: "L-1" })];
  assert.deepEqual(beyondCommunity(rows), ["hash of d"]);
  const view = { rows, nowMs: 0 };
  assert.equal(seatUnseated({ ...view, licence: null }).size, 0);
  assert.equal(seatUnseated({ ...view, licence: licenceFor(3) }).size, 0);
  assert.deepEqual(
    [...seatUnseated({ ...view, licence: licenceFor(4) })],
    [["hash of d", "L-7"]],
  );
});
