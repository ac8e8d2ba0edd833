import fc from "fast-check";
import assert from "node:assert/strict";
import type { Wire } from "./admission_pair.ts";
import type { AdmissionWay } from "../../src/admission/admission_way.ts";
import {
  ask,
  bytesOf,
  deskOf,
  keyHashOf,
  NAME,
  objectOf,
  PASSWORD,
  ROWS,
} from "./admission_pair.ts";

const NO_MATCH = { kind: "failed", problem: "no_match", cause: undefined };
const REFUSED = '{"v":1,"step":"refused"}';
const OTHER = new TextEncoder().encode("what another secret becomes");
// Draft CPace appendix B.3.11: a non-canonical encoding and the neutral element.
const BAD_POINTS = [
  "2b3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c",
  "00".repeat(32),
];

function newWire(): Wire {
  return { requests: [], replies: [] };
}

function text(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}

/** Field names and the length of each value: all that differs is the content. */
function shape(bytes: Uint8Array): [string, number][] {
  return Object.entries(objectOf(bytes)).map((
    [name, value],
  ) => [name, String(value).length]);
}

Deno.test("an exchange admits a node that knows the password, and each hears the other", async () => {
  const ways: readonly AdmissionWay[] = [
    { kind: "secret", slot: 0 },
    { kind: "secret", slot: 1 },
    { kind: "token", id: "00112233aabbccdd" },
    { kind: "code" },
  ];
  for (const way of ways) {
    const b = deskOf("b");
    assert.deepEqual(await ask("a", b, { way }), {
      kind: "admitted",
      payload: ROWS,
    });
    assert.deepEqual(b.admitted, [{
      peer: { keyHash: keyHashOf("a"), address: "address of a", way },
      payload: NAME,
    }]);
    assert.equal(b.desk.openRuns, 0);
    assert.deepEqual(b.log.lines, []);
  }
});

Deno.test("an exchange says names and rows only after both confirmations", async () => {
  const wire = newWire();
  await ask("a", deskOf("b"), { wire });
  const steps = (messages: Uint8Array[]) =>
    messages.map((one) => objectOf(one).step);
  assert.deepEqual(steps(wire.requests), ["hello", "confirm", "present"]);
  assert.deepEqual(steps(wire.replies), ["hello", "confirm", "verdict"]);
  for (const early of [...wire.requests, ...wire.replies]) {
    const { step, payload } = objectOf(early);
    const late = step === "present" || step === "verdict";
    assert.equal(payload !== undefined, late);
    assert.equal(/initiator-name|responder-row/.test(text(early)), late);
  }
});

Deno.test("an exchange holds the password, and what it derives, in no message", async () => {
  const wire = newWire();
  await ask("a", deskOf("b"), { wire });
  const all = [...wire.requests, ...wire.replies].map(text).join();
  assert(!all.includes(PASSWORD.toHex()));
  assert(!all.includes(text(PASSWORD)));
});

Deno.test("an exchange with another password, way in or closed way ends alike", async () => {
  const shapes = [];
  const cases = [
    { desk: deskOf("b"), options: { prs: OTHER } },
    { desk: deskOf("b"), options: { prs: new Uint8Array() } },
    {
      desk: deskOf("b", { passwordOf: () => Promise.resolve(null) }),
      options: {},
    },
    {
      // The same value behind another kind: the kind counts too.
      desk: deskOf("b"),
      options: {
        onRequest: (bytes: Uint8Array<ArrayBuffer>, turn: number) =>
          turn === 0 ? bytesOf({ ...objectOf(bytes), kind: "code" }) : bytes,
      },
    },
  ];
  for (const { desk, options } of cases) {
    const wire = newWire();
    assert.deepEqual(await ask("a", desk, { ...options, wire }), NO_MATCH);
    assert.deepEqual(desk.admitted, []);
    assert.equal(wire.replies.length, 2);
    assert.equal(text(wire.replies[1]), REFUSED);
    shapes.push(wire.replies.map(shape));
  }
  for (const one of shapes) assert.deepEqual(one, shapes[0]);
});

Deno.test("an exchange relayed between two honest nodes fails", async () => {
  // A's connection ends at M, and M's other connection at B: each honest node
  // took M's key from TLS.
  const b = deskOf("b");
  const relayed = { peer: keyHashOf("m"), seenAs: "m" };
  assert.deepEqual(await ask("a", b, relayed), NO_MATCH);
  assert.deepEqual(b.admitted, []);
  // One false end is enough.
  assert.deepEqual(await ask("a", b, { seenAs: "m" }), NO_MATCH);
  assert.deepEqual(await ask("a", b, { peer: keyHashOf("m") }), NO_MATCH);
  assert.deepEqual(b.admitted, []);
});

Deno.test("an exchange reflected to the initiator's own desk fails", async () => {
  const a = deskOf("a");
  const reflected = { peer: keyHashOf("m"), seenAs: "m" };
  assert.deepEqual(await ask("a", a, reflected), NO_MATCH);
  assert.deepEqual(a.admitted, []);
});

Deno.test("an exchange with oneself is not begun", async () => {
  const wire = newWire();
  const a = deskOf("a");
  assert.deepEqual(await ask("a", a, { wire }), {
    kind: "failed",
    problem: "self",
    cause: undefined,
  });
  assert.deepEqual(wire.requests, []);
  const hello = bytesOf({
    v: 1,
    step: "hello",
    kind: "secret",
    nonce: "ab".repeat(32),
  });
  const reply = await a.desk.receive(hello, { keyHash: a.own, address: "x" });
  assert.equal(text(reply), REFUSED);
  assert.equal(a.desk.openRuns, 0);
});

Deno.test("an exchange replayed, whole or in part, admits nobody", async () => {
  const b = deskOf("b");
  const wire = newWire();
  const peer = { keyHash: keyHashOf("a"), address: "address of a" };
  await ask("a", b, { wire });
  assert.equal(b.admitted.length, 1);
  for (const request of wire.requests.slice(1)) {
    assert.equal(text(await b.desk.receive(request, peer)), REFUSED);
  }
  // The recorded hello opens a new run; its nonce makes the old proof worthless.
  const [hello, confirm, present] = wire.requests;
  assert(hello && confirm && present);
  const { run } = objectOf(await b.desk.receive(hello, peer));
  const replayed = bytesOf({ ...objectOf(confirm), run });
  assert.equal(text(await b.desk.receive(replayed, peer)), REFUSED);
  const late = bytesOf({ ...objectOf(present), run });
  assert.equal(text(await b.desk.receive(late, peer)), REFUSED);
  assert.equal(b.admitted.length, 1);
  // Old replies do not convince an initiator either.
  const deaf = await ask("a", b, {
    seed: 2,
    onReply: (_bytes, turn) => wire.replies[turn]?.slice() ?? bytesOf({}),
  });
  assert.deepEqual(deaf, NO_MATCH);
});

Deno.test("an exchange ends at an invalid or neutral point from either side", async () => {
  for (const share of BAD_POINTS) {
    const b = deskOf("b");
    const put = (bytes: Uint8Array<ArrayBuffer>) =>
      bytesOf({ ...objectOf(bytes), share });
    const toResponder = newWire();
    assert.deepEqual(
      await ask("a", b, {
        wire: toResponder,
        onRequest: (bytes, turn) => turn === 1 ? put(bytes) : bytes,
      }),
      NO_MATCH,
    );
    assert.equal(text(toResponder.replies[1]), REFUSED);
    const toInitiator = newWire();
    assert.deepEqual(
      await ask("a", b, {
        wire: toInitiator,
        onReply: (bytes, turn) => turn === 0 ? put(bytes) : bytes,
      }),
      NO_MATCH,
    );
    assert.equal(toInitiator.requests.length, 1);
    assert.deepEqual(b.admitted, []);
  }
});

Deno.test("an exchange keeps the payload from a responder that proves nothing", async () => {
  for (const tag of ["00".repeat(64), undefined]) {
    const wire = newWire();
    const outcome = await ask("a", deskOf("b"), {
      wire,
      onReply(bytes, turn) {
        if (turn !== 1) return bytes;
        // Without a tag of its own a false responder can only echo the initiator's.
        return bytesOf({
          ...objectOf(bytes),
          tag: tag ?? objectOf(wire.requests[1] ?? bytes).tag,
        });
      },
    });
    assert.deepEqual(outcome, NO_MATCH);
    assert.equal(wire.requests.length, 2);
  }
});

Deno.test("an exchange refused by the gate brings the reason, proved and after the proofs", async () => {
  const reason = "Both seats are taken; `covey remove beta`";
  const b = deskOf("b", {
    admit: () => Promise.resolve({ kind: "refused", reason }),
  });
  assert.deepEqual(await ask("a", b), { kind: "refused", reason });
  const forged = await ask("a", b, {
    seed: 3,
    onReply: (bytes, turn) =>
      turn === 2
        ? bytesOf({
          ...objectOf(bytes),
          payload: JSON.stringify({ kind: "admitted", payload: ROWS }),
        })
        : bytes,
  });
  assert.deepEqual(forged, NO_MATCH);
});

Deno.test("an exchange with any byte changed, added or cut off admits nobody", async () => {
  const mutation = fc.record({
    side: fc.constantFrom("request", "reply"),
    turn: fc.nat(2),
    at: fc.nat(4000),
    change: fc.constantFrom("flip", "insert", "cut"),
    bits: fc.integer({ min: 1, max: 255 }),
  });
  await fc.assert(
    fc.asyncProperty(mutation, async ({ side, turn, at, change, bits }) => {
      const b = deskOf("b");
      const mutate = (bytes: Uint8Array<ArrayBuffer>, now: number) => {
        if (now !== turn) return bytes;
        const place = at % bytes.length;
        switch (change) {
          case "flip":
            return bytes.map((byte, index) =>
              index === place ? byte ^ bits : byte
            );
          case "insert":
            // A control character that JSON takes nowhere.
            return Uint8Array.of(
              ...bytes.slice(0, place),
              bits % 8,
              ...bytes.slice(place),
            );
          default:
            return bytes.slice(0, place);
        }
      };
      const outcome = await ask("a", b, {
        ...(side === "request" ? { onRequest: mutate } : { onReply: mutate }),
      });
      assert.deepEqual(outcome, NO_MATCH);
      const heardAll = side === "reply" && turn === 2;
      assert.equal(b.admitted.length, heardAll ? 1 : 0);
      assert(b.log.lines.every((line) => line.level !== "error"));
    }),
    { numRuns: 300 },
  );
});

Deno.test("an exchange with any field replaced admits nobody and throws nothing", async () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom("ab".repeat(32), "ab".repeat(64), "cd".repeat(16), {}, 1),
    fc.constantFrom("hello", "confirm", "present", "verdict", "secret", "code"),
  );
  const mutation = fc.record({
    side: fc.constantFrom("request", "reply"),
    turn: fc.nat(2),
    field: fc.nat(4),
    value,
  });
  await fc.assert(
    fc.asyncProperty(mutation, async ({ side, turn, field, value }) => {
      let changed = false;
      const mutate = (bytes: Uint8Array<ArrayBuffer>, now: number) => {
        if (now !== turn) return bytes;
        const before = objectOf(bytes);
        const name = Object.keys(before)[field % Object.keys(before).length];
        const after = bytesOf({ ...before, [name ?? "v"]: value });
        changed = text(after) !== text(bytes);
        return after;
      };
      const b = deskOf("b");
      const outcome = await ask("a", b, {
        ...(side === "request" ? { onRequest: mutate } : { onReply: mutate }),
      });
      if (!changed) return;
      assert.deepEqual(outcome, NO_MATCH);
      assert(b.log.lines.every((line) => line.level !== "error"));
    }),
    { numRuns: 300 },
  );
});

Deno.test("an exchange ignores fields of a later version", async () => {
  const add = (bytes: Uint8Array<ArrayBuffer>) =>
    bytesOf({ ...objectOf(bytes), later: { deep: [1] } });
  const outcome = await ask("a", deskOf("b"), {
    onRequest: add,
    onReply: add,
  });
  assert.equal(outcome.kind, "admitted");
});
