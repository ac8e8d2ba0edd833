import assert from "node:assert/strict";
import fc from "fast-check";
import { WireError } from "../../src/link/wire_error.ts";
import {
  encodeHeld,
  formatPiecePath,
  parseHeld,
  parsePiecePath,
} from "../../src/packs/pack_wire.ts";

const integrity = fc.uint8Array({ minLength: 64, maxLength: 64 })
  .map((digest) => `sha512-${digest.toBase64()}`);

Deno.test("parsePiecePath reads what formatPiecePath writes", () => {
  fc.assert(fc.property(integrity, fc.nat(99_999), (integrity, index) => {
    const piece = { integrity, index };
    assert.deepEqual(parsePiecePath(formatPiecePath(piece)), piece);
  }));
});

Deno.test("parsePiecePath reads no other path", () => {
  const digest = "0a".repeat(64);
  const paths = [
    "/covey/1/packs/",
    `/covey/1/packs/${digest}`,
    `/covey/1/packs/${digest}/`,
    `/covey/1/packs/${digest}/-1`,
    `/covey/1/packs/${digest}/100000`,
    `/covey/1/packs/${digest}/1/2`,
    `/covey/1/packs/${digest.toUpperCase()}/1`,
    `/covey/1/packs/${digest}aa/1`,
    "/covey/1/packs/../../etc/passwd",
  ];
  for (const path of paths) assert.equal(parsePiecePath(path), undefined, path);
});

Deno.test("parseHeld reads what encodeHeld writes, and nothing of another form or size", () => {
  const said = parseHeld(encodeHeld(["sha512-a", "sha512-b"], ["sha512-c"]));
  assert.deepEqual([...said.held], ["sha512-a", "sha512-b"]);
  assert.deepEqual([...said.unkept], ["sha512-c"]);
  const older = parseHeld(
    new TextEncoder().encode('{"archives":["sha512-a"]}'),
  );
  assert.deepEqual([older.held.size, older.unkept.size], [1, 0]);
  const many = Array.from({ length: 65 }, (_, n) => `sha512-${n}`);
  for (
    const body of [
      "",
      "null",
      "[]",
      '{"archives":1}',
      '{"archives":[1]}',
      '{"archives":[],"unkept":[1]}',
      JSON.stringify({ archives: many }),
      JSON.stringify({ archives: ["x".repeat(201)] }),
    ]
  ) {
    assert.throws(
      () => parseHeld(new TextEncoder().encode(body)),
      WireError,
      body,
    );
  }
});
