import assert from "node:assert/strict";
import fc from "fast-check";
import { WireError } from "../../src/link/wire_error.ts";
import { OPEN_DOOR } from "../../src/membership/door.ts";
import {
  encodeStatus,
  parseStatus,
  type StatusMessage,
} from "../../src/membership/status_message.ts";
import { keyOf, rowOf } from "./rows.ts";

const STATUS: StatusMessage = {
  version: "0.1.0",
  bootId: "boot",
  name: "peer",
  linkPort: 11412,
  draining: false,
  rows: [rowOf(1), rowOf(2)],
  addresses: [
    { keyHash: keyOf(2), addresses: [{ host: "192.0.2.2", port: 11412 }] },
  ],
  door: OPEN_DOOR,
  work: { engines: [], dispatchesSeen: {} },
};

function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

Deno.test("parseStatus reads what encodeStatus wrote", () => {
  assert.deepEqual(parseStatus(encodeStatus(STATUS)), STATUS);
});

Deno.test("parseStatus ignores unknown fields and leaves unreadable rows and addresses out", () => {
  const read = parseStatus(bytesOf({
    ...STATUS,
    v: 1,
    sensors: { hot: true },
    rows: [...STATUS.rows, { id: "later" }],
    addresses: [
      ...STATUS.addresses,
      { keyHash: keyOf(2), addresses: [{ host: "evil.example", port: 1 }] },
      { keyHash: "x", addresses: [] },
    ],
  }));
  assert.deepEqual(read, STATUS);
});

Deno.test("parseStatus throws nothing but WireError at truncated, random and deep input", () => {
  const whole = encodeStatus(STATUS);
  fc.assert(fc.property(
    fc.oneof(
      fc.nat(whole.length - 1).map((at) => whole.subarray(0, at)),
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => new TextEncoder().encode(text)),
      fc.constant(bytesOf({ ...STATUS, linkPort: 0 })),
      fc.constant(new TextEncoder().encode('{"a":'.repeat(100_000))),
    ),
    (bytes) => assert.throws(() => parseStatus(bytes), WireError),
  ));
});
