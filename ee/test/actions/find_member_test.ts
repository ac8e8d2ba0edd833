import assert from "node:assert/strict";
import { Fault } from "@covey/core/domain";
import type { ActionMeans } from "../../src/actions/action_means.ts";
import { findMember } from "../../src/actions/find_member.ts";

const ROWS = [
  { keyHash: "k1", id: "11111111-0000-4000-8000-000000000000", name: "desk" },
  { keyHash: "k2", id: "22222222-0000-4000-8000-000000000000", name: "pi" },
  { keyHash: "k3", id: "33333333-0000-4000-8000-000000000000", name: "pi" },
  { keyHash: "k4", id: "44444444-0000-4000-8000-000000000000", name: "old" },
].map((row) => ({ ...row, state: "member" }));

/** This node is `desk`; the last one calls itself otherwise since it was admitted. */
const MEANS = {
  host: { node: { name: "desk" } },
  own: "k1",
  membership: { rows: () => ROWS },
  peers: {
    get: (keyHash: string) =>
      keyHash === "k4" ? { monitor: { name: "attic" } } : undefined,
  },
} as unknown as ActionMeans;

function find(member: string): string {
  try {
    return findMember(member, MEANS, "It is this node").keyHash;
  } catch (error) {
    assert.ok(error instanceof Fault);
    return error.message;
  }
}

Deno.test("findMember goes by id, by the name that members are shown by, and by that of the row", () => {
  for (
    const [member, keyHash] of [
      ["22222222-0000-4000-8000-000000000000", "k2"],
      ["pi~33333333", "k3"],
      ["PI~22222222", "k2"],
      ["Attic", "k4"],
      ["old", "k4"],
    ] as const
  ) assert.equal(find(member), keyHash, member);
});

Deno.test("findMember refuses a name of nobody, of several, and of this node", () => {
  assert.match(find("cellar"), /No member is called "cellar"/);
  assert.match(find("pi"), /More than one .* 2{8}-.*, 3{8}-/);
  assert.equal(find("desk"), "It is this node");
});
