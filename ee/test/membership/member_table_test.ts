import assert from "node:assert/strict";
import fc from "fast-check";
import type { KeyHash } from "../../src/identity/key_hash.ts";
import {
  type MemberRow,
  parseMemberRow,
} from "../../src/membership/member_row.ts";
import {
  digestTable,
  type MemberTable,
  mergeRows,
  MOST_ROWS,
} from "../../src/membership/member_table.ts";
import { judgeRows } from "../../src/membership/row_standing.ts";
import { nodeIdOf } from "../link/link_fixture.ts";
import { keyOf, rowOf } from "./rows.ts";

const NOBODY: MemberTable = new Map();

const rows: fc.Arbitrary<MemberRow[]> = fc.array(
  fc.record({
    id: fc.integer({ min: 1, max: 4 }).map(nodeIdOf),
    keyHash: fc.integer({ min: 1, max: 4 }).map(keyOf),
    name: fc.constantFrom("a", "b"),
    inc: fc.integer({ min: 1, max: 3 }),
    state: fc.constantFrom("member" as const, "removed" as const),
    seat: fc.constantFrom(null, "community", "licence-1"),
  }, { noNullPrototype: true }),
  { maxLength: 24 },
);

function mergeAll(parts: readonly (readonly MemberRow[])[]): MemberTable {
  return parts.reduce<MemberTable>(
    (table, part) => mergeRows(table, part).table,
    NOBODY,
  );
}

function sorted(table: MemberTable): MemberRow[] {
  return [...table.values()].sort((a, b) => a.keyHash < b.keyHash ? -1 : 1);
}

Deno.test("mergeRows ends in one table in any order and grouping, also with repeats", () => {
  fc.assert(fc.property(rows, fc.infiniteStream(fc.nat()), (all, chance) => {
    const inOrder = mergeRows(NOBODY, all).table;
    const next = () => chance.next().value ?? 0;
    const shuffled = all.map((row) => ({ row, at: next() % 1000 }))
      .sort((a, b) => a.at - b.at).map(({ row }) => row);
    const parts = [...shuffled, ...shuffled.slice(0, next() % 5)].map((row) => [
      row,
    ]);
    const oneByOne = mergeAll(parts);
    assert.deepEqual(sorted(oneByOne), sorted(inOrder));
    assert.equal(digestTable(oneByOne), digestTable(inOrder));
    assert.deepEqual(
      new Map([...judgeRows(oneByOne)].sort()),
      new Map([...judgeRows(inOrder)].sort()),
    );
    const halves = mergeAll([
      sorted(mergeRows(NOBODY, shuffled.slice(3)).table),
      sorted(mergeRows(NOBODY, shuffled.slice(0, 3)).table),
    ]);
    assert.deepEqual(sorted(halves), sorted(inOrder));
  }));
});

Deno.test("mergeRows lets the higher inc win, then removed", () => {
  const member = rowOf(1);
  const removed: MemberRow = { ...member, state: "removed" };
  const back: MemberRow = { ...member, inc: 2 };
  const table = (...all: MemberRow[]) => [...mergeAll([all]).values()];
  assert.deepEqual(table(member, removed), [removed]);
  assert.deepEqual(table(removed, member), [removed]);
  assert.deepEqual(table(removed, back), [back]);
  assert.deepEqual(table(back, removed), [back]);
});

Deno.test("mergeRows takes no more than its limit and says how many it left out", () => {
  const many = Array.from({ length: MOST_ROWS + 5 }, (_, n) => rowOf(n + 1));
  const { dropped, table } = mergeRows(NOBODY, many);
  assert.equal(table.size, MOST_ROWS);
  assert.equal(dropped, 5);
});

Deno.test("judgeRows leaves an id with one key: re-admitted first, then the smaller key hash", () => {
  const first = rowOf(1);
  const other: MemberRow = { ...rowOf(2), id: first.id };
  assert.deepEqual(
    Object.fromEntries(judgeRows(mergeAll([[other, first]]))),
    { [keyOf(1)]: "member", [keyOf(2)]: "identity_changed" },
  );
  assert.deepEqual(
    Object.fromEntries(judgeRows(mergeAll([[{ ...other, inc: 2 }, first]]))),
    { [keyOf(1)]: "identity_changed", [keyOf(2)]: "member" },
  );
});

Deno.test("judgeRows unseats community members beyond two, and no licensed ones", () => {
  const table = mergeAll([[
    rowOf(4),
    rowOf(1),
    rowOf(3),
    { ...rowOf(2), seat: "licence-1" },
  ]]);
  assert.deepEqual(Object.fromEntries(judgeRows(table)), {
    [keyOf(1)]: "member",
    [keyOf(2)]: "member",
    [keyOf(3)]: "member",
    [keyOf(4)]: "unseated",
  });
});

Deno.test("parseMemberRow refuses what is no row and cleans names", () => {
  const row = rowOf(1);
  assert.deepEqual(parseMemberRow({ ...row, later: 1 }), row);
  assert.equal(
    parseMemberRow({ ...row, name: "a\u001b[31m\nb" })?.name,
    "a[31mb",
  );
  const wrong: readonly unknown[] = [
    null,
    [],
    { ...row, id: "x" },
    { ...row, keyHash: "00" as KeyHash },
    { ...row, inc: 0 },
    { ...row, inc: 1.5 },
    { ...row, state: "maybe" },
    { ...row, seat: "" },
  ];
  for (const value of wrong) assert.equal(parseMemberRow(value), undefined);
});
