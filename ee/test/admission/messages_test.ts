import fc from "fast-check";
import assert from "node:assert/strict";
import {
  encodeMessage,
  parseAdmissionReply,
  parseAdmissionRequest,
  parsePayload,
  parseVerdict,
  PAYLOAD_LIMIT_BYTES,
} from "../../src/admission/messages.ts";

const encoder = new TextEncoder();
const bytes = (count: number) =>
  fc.uint8Array({ minLength: count, maxLength: count });
const run = bytes(16).map((one) => one.toHex());
const payload = fc.string({ unit: "grapheme", maxLength: 50 });

Deno.test("admission requests and replies survive being written and parsed", () => {
  const request = fc.oneof(
    fc.record({
      step: fc.constant("hello" as const),
      way: fc.oneof(
        fc.constantFrom(0 as const, 1 as const).map((slot) => ({
          kind: "secret" as const,
          slot,
        })),
        bytes(8).map((one) => ({ kind: "token" as const, id: one.toHex() })),
        fc.constant({ kind: "code" as const }),
      ),
      nonce: bytes(32),
    }),
    fc.record({
      step: fc.constant("confirm" as const),
      run,
      share: bytes(32),
      tag: bytes(64),
    }),
    fc.record({
      step: fc.constant("present" as const),
      run,
      payload,
      tag: bytes(64),
    }),
  );
  const reply = fc.oneof(
    fc.record({
      step: fc.constant("hello" as const),
      run,
      nonce: bytes(32),
      share: bytes(32),
    }),
    fc.record({ step: fc.constant("confirm" as const), tag: bytes(64) }),
    fc.record({
      step: fc.constant("verdict" as const),
      payload,
      tag: bytes(64),
    }),
    fc.constant({ step: "refused" as const }),
    fc.constant({ step: "busy" as const }),
  );
  fc.assert(fc.property(request, (one) => {
    assert.deepEqual(
      parseAdmissionRequest(encodeMessage(one), PAYLOAD_LIMIT_BYTES),
      one.step === "hello" ? { ...one } : { v: 1, ...one },
    );
  }));
  fc.assert(fc.property(reply, (one) => {
    assert.deepEqual(
      parseAdmissionReply(encodeMessage(one), PAYLOAD_LIMIT_BYTES),
      { v: 1, ...one },
    );
  }));
});

Deno.test("admission parsers take any bytes and any JSON without throwing", () => {
  const anything = fc.oneof(
    fc.uint8Array(),
    fc.json().map((text) => encoder.encode(text)),
  );
  fc.assert(fc.property(anything, (one) => {
    assert.equal(parseAdmissionRequest(one, PAYLOAD_LIMIT_BYTES), undefined);
    assert.equal(parseAdmissionReply(one, PAYLOAD_LIMIT_BYTES), undefined);
    parsePayload(new TextDecoder().decode(one));
    parseVerdict(new TextDecoder().decode(one));
  }));
});

Deno.test("admission parsers bound length and depth", () => {
  const deep = encoder.encode("[".repeat(PAYLOAD_LIMIT_BYTES));
  assert.equal(parseAdmissionReply(deep, PAYLOAD_LIMIT_BYTES), undefined);
  assert.equal(
    parseAdmissionReply(encoder.encode('{"v":1,"step":"busy"}'), 20),
    undefined,
  );
  const nested = (depth: number) =>
    '{"a":'.repeat(depth - 1) + "{}" + "}".repeat(depth - 1);
  assert(parsePayload(nested(32)));
  assert.equal(parsePayload(nested(33)), undefined);
  assert.equal(parsePayload(nested(100_000)), undefined);
  assert.throws(
    () =>
      encodeMessage({
        step: "verdict",
        payload: "x".repeat(PAYLOAD_LIMIT_BYTES),
        tag: new Uint8Array(64),
      }),
    RangeError,
  );
});

Deno.test("admission parsers refuse a payload that no UTF-8 can carry", () => {
  const text = JSON.stringify({
    v: 1,
    step: "verdict",
    payload: "\ud800",
    tag: "ab".repeat(64),
  });
  assert.equal(
    parseAdmissionReply(encoder.encode(text), PAYLOAD_LIMIT_BYTES),
    undefined,
  );
});

Deno.test("parsePayload takes an object and nothing else", () => {
  assert.deepEqual(parsePayload('{"name":"n"}'), { name: "n" });
  for (const text of ["", "null", "[]", "1", '"x"', "{", "undefined"]) {
    assert.equal(parsePayload(text), undefined, text);
  }
});

Deno.test("parseVerdict takes the two verdicts and nothing else", () => {
  assert.deepEqual(parseVerdict('{"kind":"admitted","payload":{"rows":[]}}'), {
    kind: "admitted",
    payload: { rows: [] },
  });
  assert.deepEqual(parseVerdict('{"kind":"refused","reason":"full"}'), {
    kind: "refused",
    reason: "full",
  });
  const wrong = [
    '{"kind":"admitted"}',
    '{"kind":"admitted","payload":[]}',
    '{"kind":"refused"}',
    '{"kind":"refused","reason":1}',
    `{"kind":"refused","reason":"${"x".repeat(2001)}"}`,
    '{"kind":"seat","payload":{}}',
    "[]",
    "",
  ];
  for (const text of wrong) assert.equal(parseVerdict(text), undefined, text);
});
