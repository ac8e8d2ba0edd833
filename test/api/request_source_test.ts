import assert from "node:assert/strict";
import { pinSource } from "../../src/api/request_source.ts";
import { Fault, type NodeId } from "../../src/domain/mod.ts";

const PI = member("6b0a1c2e-0000-4000-8000-000000000001", "pi");
const OTHER = member("7c0a1c2e-0000-4000-8000-000000000002", "Pi");
const MAC = member("8d0a1c2e-0000-4000-8000-000000000003", "mac");

function member(id: string, name: string) {
  return { id: id as NodeId, name };
}

Deno.test("pinSource turns a name into an id and refuses one that several have, with their ids", () => {
  const all = [PI, OTHER, MAC];
  const pinned = (node: string) => pinSource({ kind: "node", node }, all);
  assert.deepEqual(pinned("MAC"), { kind: "node", node: MAC.id });
  assert.deepEqual(pinned(OTHER.id), { kind: "node", node: OTHER.id });
  assert.deepEqual(pinned("pi~7c0a1c2e"), { kind: "node", node: OTHER.id });
  assert.deepEqual(pinned("gone"), { kind: "node", node: "gone" });
  assert.deepEqual(pinSource({ kind: "local" }, all), { kind: "local" });
  assert.throws(
    () => pinned("pi"),
    (error) =>
      error instanceof Fault && error.code === "invalid_request" &&
      error.message.includes(`${PI.id}, ${OTHER.id}`),
  );
});
