import assert from "node:assert/strict";
import { decideSeat, type SeatRow } from "../../src/licence/seat_gate.ts";

function row(name: string, changes: Partial<SeatRow> = {}): SeatRow {
  return {
    keyHash: `hash of ${name}`,
    name,
    state: "member",
    seat: "community",
    ...changes,
  };
}

const NEWCOMER = { keyHash: "hash of gamma", name: "gamma" };

Deno.test("decideSeat gives two community seats and refuses the third", () => {
  const seat = { kind: "seat", seat: "community" };
  assert.deepEqual(decideSeat([], NEWCOMER), seat);
  assert.deepEqual(decideSeat([row("alpha")], NEWCOMER), seat);
  assert.deepEqual(decideSeat([row("alpha"), row("beta")], NEWCOMER), {
    kind: "refused",
    reason: 'Failed to admit "gamma": the 2 community seats are taken by ' +
      '"alpha" and "beta". Remove one with `covey remove beta`, ' +
      "or add a licence with `covey licence`",
  });
});

Deno.test("decideSeat counts neither removed, licensed nor seatless rows", () => {
  const rows = [
    row("alpha"),
    row("beta", { state: "removed" }),
    row("delta", { seat: "licence-7" }),
    row("epsilon", { seat: null }),
  ];
  assert.deepEqual(decideSeat(rows, NEWCOMER), {
    kind: "seat",
    seat: "community",
  });
});

Deno.test("decideSeat lets a member that asks again keep its seat", () => {
  const rows = [row("alpha"), row("gamma")];
  assert.deepEqual(decideSeat(rows, NEWCOMER), {
    kind: "seat",
    seat: "community",
  });
  const removed = [
    row("alpha"),
    row("beta"),
    row("gamma", {
      state: "removed",
    }),
  ];
  assert.equal(decideSeat(removed, NEWCOMER).kind, "refused");
});
