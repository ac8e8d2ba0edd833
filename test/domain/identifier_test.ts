import assert from "node:assert/strict";
import fc from "fast-check";
import {
  attemptIdOf,
  formatSource,
  parseAttemptId,
  parseDecisionId,
  parseNodeId,
  parseSource,
  Secret,
} from "../../src/domain/mod.ts";

Deno.test("parseNodeId lowers the case and refuses what is no UUID", () => {
  const upper = "0F0E0D0C-1111-4222-8333-444455556666";
  assert.equal(parseNodeId(upper), upper.toLowerCase());
  for (const bad of ["", "x", `${upper}0`, upper.slice(1), ` ${upper}`]) {
    assert.equal(parseNodeId(bad), undefined, bad);
  }
});

Deno.test("parseAttemptId reads what attemptIdOf writes", () => {
  const decision = parseDecisionId("d-12345678");
  assert.ok(decision !== undefined);
  fc.assert(fc.property(fc.integer({ min: 1, max: 999 }), (n) => {
    const id = attemptIdOf(decision, n);
    assert.equal(parseAttemptId(id), id);
  }));
  for (const bad of ["d-12345678", "d-12345678.0", "d-12345678.1000", ".1"]) {
    assert.equal(parseAttemptId(bad), undefined, bad);
  }
});

Deno.test("parseSource reads the spellings that formatSource writes, and nothing else", () => {
  for (
    const text of [
      "local",
      "cluster",
      "node:0f0e0d0c-1111-4222-8333-444455556666",
      "node:attic pi",
    ]
  ) {
    const source = parseSource(text);
    assert.ok(source !== undefined);
    assert.equal(formatSource(source), text);
  }
  for (
    const bad of ["", "LOCAL", "node:", "anywhere", `node:${"x".repeat(129)}`]
  ) {
    assert.equal(parseSource(bad), undefined, bad);
  }
});

Deno.test("Secret shows its value to reveal alone", () => {
  const secret = new Secret("correct horse battery");
  assert.equal(secret.reveal(), "correct horse battery");
  const seen = [
    `${secret}`,
    JSON.stringify({ secret }),
    Deno.inspect(secret, { depth: 9, showHidden: true }),
    Object.values(secret).join(),
  ].join();
  assert.doesNotMatch(seen, /correct/);
});
