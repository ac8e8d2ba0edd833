import assert from "node:assert/strict";
import { createSeededEntropy, ManualClock } from "@covey/core/platform";
import { Invitations } from "../../src/invitation/invitations.ts";
import { drawJoinCode, parseJoinCode } from "../../src/invitation/join_code.ts";
import { keyOf } from "../membership/rows.ts";

function setup() {
  const clock = new ManualClock();
  let voided = 0;
  const invitations = new Invitations({
    clock,
    entropy: createSeededEntropy(3),
    onCodeVoided: () => void voided++,
  });
  return { clock, invitations, voided: () => voided };
}

Deno.test("a token admits one key, which may ask again, until it expires by the monotonic clock", async () => {
  const { clock, invitations } = setup();
  const issued = invitations.issueToken(600_000);
  assert.ok(issued !== undefined);
  assert.ok(issued.key.length * 8 >= 128);
  const ref = { kind: "token", id: issued.id } as const;
  assert.deepEqual(invitations.passwordFor(ref), issued.key);
  assert.ok(invitations.admits(ref, keyOf(1)));
  invitations.use(ref, keyOf(1));
  assert.ok(invitations.admits(ref, keyOf(1)));
  assert.ok(!invitations.admits(ref, keyOf(2)));
  assert.equal(
    invitations.passwordFor({ kind: "token", id: "ff".repeat(8) }),
    null,
  );
  await clock.advance(599_999);
  assert.deepEqual(invitations.passwordFor(ref), issued.key);
  await clock.advance(1);
  assert.equal(invitations.passwordFor(ref), null);
  assert.ok(!invitations.admits(ref, keyOf(1)));
});

Deno.test("a code bears five runs; the sixth voids it, whoever makes it", () => {
  const { invitations, voided } = setup();
  invitations.issueCode(600_000);
  for (let run = 1; run <= 5; run++) {
    assert.notEqual(invitations.passwordFor({ kind: "code" }), null, `${run}`);
  }
  assert.equal(voided(), 0);
  assert.equal(invitations.passwordFor({ kind: "code" }), null);
  assert.equal(voided(), 1);
  assert.ok(!invitations.admits({ kind: "code" }, keyOf(1)));
  assert.equal(invitations.passwordFor({ kind: "code" }), null);
  assert.equal(voided(), 1);
});

Deno.test("a new code takes the place of the one before, and tokens are bounded", () => {
  const { invitations } = setup();
  const first = invitations.issueCode(600_000);
  const second = invitations.issueCode(600_000);
  assert.notEqual(first.code, second.code);
  const password = invitations.passwordFor({ kind: "code" });
  assert.equal(new TextDecoder().decode(password ?? undefined), second.code);
  for (let n = 0; n < 64; n++) {
    assert.ok(invitations.issueToken(600_000) !== undefined);
  }
  assert.equal(invitations.issueToken(600_000), undefined);
  assert.deepEqual(invitations.live, { tokens: 64, code: true });
});

Deno.test("a restart voids what was issued: nothing of it is shared", () => {
  const before = setup().invitations;
  const issued = before.issueToken(600_000);
  const { invitations } = setup();
  const ref = { kind: "token", id: issued?.id ?? "" } as const;
  assert.equal(invitations.passwordFor(ref), null);
});

Deno.test("codes have 8 digits and are read with blanks and hyphens", () => {
  const entropy = createSeededEntropy(5);
  for (let n = 0; n < 200; n++) {
    const code = drawJoinCode(entropy);
    assert.match(code, /^\d{8}$/);
    assert.equal(
      parseJoinCode(` ${code.slice(0, 4)}-${code.slice(4)}\n`),
      code,
    );
  }
  for (
    const text of [
      "",
      "1234567",
      "123456789",
      "1234567a",
      "１２３４５６７８",
      "1".repeat(100),
    ]
  ) {
    assert.equal(parseJoinCode(text), undefined, text);
  }
});
