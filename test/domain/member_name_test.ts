import assert from "node:assert/strict";
import {
  distinctNames,
  findMembers,
  type NodeId,
} from "../../src/domain/mod.ts";

const PI_1 = member("6b0a1c2e-0000-4000-8000-000000000001", "pi");
const PI_2 = member("7c0a1c2e-0000-4000-8000-000000000002", "Pi");
const MAC = member("8d0a1c2e-0000-4000-8000-000000000003", "mac");

function member(id: string, name: string) {
  return { id: id as NodeId, name };
}

Deno.test("distinctNames tells members of one name apart by their ids", () => {
  assert.deepEqual([...distinctNames([PI_1, PI_2, MAC]).values()], [
    "pi~6b0a1c2e",
    "Pi~7c0a1c2e",
    "mac",
  ]);
  const near = member("6b0a1c2e-1111-4000-8000-000000000009", "pi");
  assert.deepEqual([...distinctNames([PI_1, near]).values()], [
    `pi~${PI_1.id}`,
    `pi~${near.id}`,
  ]);
});

Deno.test("findMembers goes by id, by the name shown, then by name, and says when several are meant", () => {
  const all = [PI_1, PI_2, MAC];
  assert.deepEqual(findMembers(all, PI_2.id.toUpperCase()), [PI_2]);
  assert.deepEqual(findMembers(all, "PI~7c0a1c2e"), [PI_2]);
  assert.deepEqual(findMembers(all, "MAC"), [MAC]);
  assert.deepEqual(findMembers(all, "pi"), [PI_1, PI_2]);
  assert.deepEqual(findMembers(all, "nobody"), []);
  // A member may have the name that another is shown under: the id decides.
  const sly = member("9d0a1c2e-0000-4000-8000-000000000004", "pi~6b0a1c2e");
  assert.equal(findMembers([...all, sly], "pi~6b0a1c2e").length, 2);
});
