import assert from "node:assert/strict";
import fc from "fast-check";
import { decodeBase32, encodeBase32 } from "../../src/invitation/base32.ts";
import {
  formatJoinToken,
  type JoinToken,
  parseJoinToken,
} from "../../src/invitation/join_token.ts";
import { keyOf } from "../membership/rows.ts";

const TOKEN: JoinToken = {
  id: "00112233aabbccdd",
  key: Uint8Array.from({ length: 20 }, (_, at) => at * 7),
  issuer: keyOf(3),
  addresses: [
    { host: "192.0.2.7", port: 11412 },
    { host: "2001:db8::7", port: 40_000 },
  ],
  expiresAtMs: 1_800_000_000_000,
};

const arbitrary = fc.record({
  id: bytes(8).map((one) => one.toHex()),
  key: bytes(20),
  issuer: fc.integer({ min: 0, max: 99 }).map(keyOf),
  addresses: fc.array(
    fc.record({
      host: fc.oneof(
        fc.ipV4(),
        fc.ipV6().map((one) =>
          URL.parse(`http://[${one}]/`)?.hostname.slice(1, -1) ?? "::1"
        ),
      ),
      port: fc.integer({ min: 1, max: 65_535 }),
    }),
    { minLength: 1, maxLength: 8 },
  ),
  expiresAtMs: fc.integer({ min: 0, max: 2 ** 32 - 1 }).map((s) => s * 1000),
});

function bytes(length: number) {
  return fc.uint8Array({ minLength: length, maxLength: length })
    .map((one) => Uint8Array.from(one));
}

Deno.test("encodeBase32 and decodeBase32 are each other's inverse", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (given) => {
    const text = encodeBase32(given);
    assert.deepEqual(decodeBase32(text), Uint8Array.from(given));
    assert.deepEqual(decodeBase32(text.toUpperCase()), Uint8Array.from(given));
  }));
  for (const text of ["u", "0", "!!", "zz z", "é0"]) {
    assert.equal(decodeBase32(text), undefined, text);
  }
});

Deno.test("parseJoinToken reads what formatJoinToken wrote, however it was pasted", () => {
  fc.assert(
    fc.property(
      arbitrary,
      fc.array(
        fc.tuple(
          fc.nat(400),
          fc.constantFrom(" ", "\n", "\t", "\u00a0", "-", "\u2011", "\u200b"),
        ),
      ),
      fc.boolean(),
      (token, blanks, upper) => {
        let text = formatJoinToken(token);
        assert.match(text, /^covey1(?:-[0-9a-z]{1,8})+$/);
        if (upper) {
          text = text.toUpperCase().replaceAll("1", "l").replaceAll("0", "O");
        }
        for (const [at, blank] of blanks) {
          const place = at % text.length;
          text = text.slice(0, place) + blank + text.slice(place);
        }
        const addresses = token.addresses.map((one) => ({ ...one }));
        assert.deepEqual(parseJoinToken(text), {
          kind: "token",
          token: { ...token, addresses },
        });
      },
    ),
  );
});

Deno.test("parseJoinToken finds any letter changed, lost or put in", () => {
  const text = formatJoinToken(TOKEN);
  fc.assert(
    fc.property(
      fc.integer({ min: 6, max: text.length - 1 }),
      fc.constantFrom(..."23456789abcdefghjkmnpqrstvwxyz"),
      fc.constantFrom("replace", "drop", "insert"),
      (at, letter, change) => {
        if (text[at] === "-" || (change === "replace" && text[at] === letter)) {
          return;
        }
        const after = text.slice(0, at) +
          (change === "drop" ? "" : letter) +
          text.slice(change === "insert" ? at : at + 1);
        assert.equal(parseJoinToken(after).kind, "bad", after);
      },
    ),
  );
});

Deno.test("parseJoinToken refuses hostile texts and quotes none of them", () => {
  const whole = formatJoinToken(TOKEN);
  const table = [
    "",
    " ",
    "covey1",
    "covey1-",
    "covey2-00000000",
    whole.slice(0, -3),
    whole.slice(6),
    whole + whole,
    "covey1" + "0".repeat(4_000),
    "x".repeat(100_000),
    "covey1-" + "\u0000".repeat(50),
    "covey1-" + "zzzzzzzz-".repeat(30),
    "https://example.com/?token=covey1",
    formatJoinToken({ ...TOKEN, addresses: [] }),
    formatJoinToken({ ...TOKEN, addresses: [{ host: "a.example", port: 1 }] }),
    formatJoinToken({ ...TOKEN, addresses: [{ host: "192.0.2.7", port: 0 }] }),
  ];
  for (const text of table) {
    const reading = parseJoinToken(text);
    assert.equal(reading.kind, "bad", text.slice(0, 60));
    if (reading.kind === "bad") assert.ok(reading.reason.length < 200);
  }
  fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => {
    assert.equal(parseJoinToken(text).kind, "bad");
    assert.equal(parseJoinToken(`covey1-${text}`).kind, "bad");
  }));
});
