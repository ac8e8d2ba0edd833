import assert from "node:assert/strict";
import { describeActions } from "../../src/actions/describe_actions.ts";

Deno.test("describeActions says of each body what its reader takes", () => {
  const { copy, door, invite, join, leave } = describeActions();
  assert.deepEqual(copy?.required, ["model", "to"]);
  assert.deepEqual(invite?.properties, {
    code: { default: false, type: "boolean" },
    ttlMs: {
      default: 600_000,
      type: "integer",
      minimum: 1_000,
      maximum: 86_400_000,
    },
  });
  assert.ok(JSON.stringify(door).includes('["open","closed"]'));
  for (const body of [copy, door, invite, join, leave]) {
    assert.equal(body?.type, "object");
    assert.equal(body?.$schema, undefined);
  }
});
