import assert from "node:assert/strict";
import type { AdmissionPeer } from "../../src/admission/admission_desk.ts";
import {
  PAYLOAD_LIMIT_BYTES,
  UNPROVED_LIMIT_BYTES,
} from "../../src/admission/messages.ts";
import {
  ask,
  bytesOf,
  deskOf,
  type DeskUnderTest,
  keyHashOf,
  objectOf,
  PASSWORD,
  type Wire,
} from "./admission_pair.ts";

const REFUSED = { v: 1, step: "refused" };
const BUSY = { v: 1, step: "busy" };
const HELLO = {
  v: 1,
  step: "hello",
  kind: "secret",
  nonce: "ab".repeat(32),
};

function peerOf(name: string): AdmissionPeer {
  return { keyHash: keyHashOf(name), address: `address of ${name}` };
}

async function say(
  { desk }: DeskUnderTest,
  name: string,
  message: unknown,
): Promise<Record<string, unknown>> {
  return objectOf(await desk.receive(bytesOf(message), peerOf(name)));
}

function wrongProof(run: unknown) {
  // The base point of the group (RFC 9496, appendix A.1): valid, and no proof.
  const share =
    "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76";
  return { v: 1, step: "confirm", run, share, tag: "ab".repeat(64) };
}

Deno.test("AdmissionDesk begins 10 runs at once and then one each 100 ms", async () => {
  const b = deskOf("b");
  for (let n = 0; n < 10; n++) {
    assert.equal((await say(b, `n${n}`, HELLO)).step, "hello");
  }
  assert.deepEqual(await say(b, "late", HELLO), BUSY);
  await b.clock.advance(100);
  assert.equal((await say(b, "late", HELLO)).step, "hello");
  assert.deepEqual(await say(b, "later", HELLO), BUSY);
  await b.clock.advance(60_000);
  for (let n = 0; n < 10; n++) {
    assert.equal((await say(b, `n${n}`, HELLO)).step, "hello");
  }
  assert.deepEqual(await say(b, "latest", HELLO), BUSY);
});

Deno.test("AdmissionDesk keeps 64 runs open and drops the one that waits longest", async () => {
  const b = deskOf("b");
  const runs: unknown[] = [];
  for (let n = 0; n < 70; n++) {
    runs.push((await say(b, `n${n}`, HELLO)).run);
    assert(b.desk.openRuns <= 64);
    await b.clock.advance(100);
  }
  assert.equal(b.desk.openRuns, 64);
  assert.equal((await ask("honest", b)).kind, "admitted");
  assert.equal(b.desk.openRuns, 63);
  assert.deepEqual(await say(b, "n0", wrongProof(runs[0])), REFUSED);
});

Deno.test("AdmissionDesk keeps one run per key hash", async () => {
  const b = deskOf("b");
  const first = await say(b, "a", HELLO);
  const second = await say(b, "a", HELLO);
  assert.notEqual(first.run, second.run);
  assert.equal(b.desk.openRuns, 1);
});

Deno.test("AdmissionDesk forgets a run after 10 s", async () => {
  for (const [waitMs, kind] of [[9_999, "admitted"], [10_000, "failed"]]) {
    const b = deskOf("b");
    const outcome = await ask("a", b, {
      beforeRequest: async (_message, turn) => {
        if (turn === 2) await b.clock.advance(Number(waitMs));
      },
    });
    assert.equal(outcome.kind, kind);
    assert.equal(b.desk.openRuns, 0);
  }
});

Deno.test("AdmissionDesk takes a run's messages from its own key hash alone", async () => {
  const b = deskOf("b");
  const { run } = await say(b, "a", HELLO);
  assert.deepEqual(await say(b, "thief", wrongProof(run)), REFUSED);
  assert.equal(b.desk.openRuns, 1);
  const outcome = await ask("honest", b, {
    beforeRequest: async (message, turn) => {
      if (turn === 0) return;
      const { run } = objectOf(message);
      assert.deepEqual(await say(b, "thief", wrongProof(run)), REFUSED);
    },
  });
  assert.equal(outcome.kind, "admitted");
});

Deno.test("AdmissionDesk gives a run one try", async () => {
  const b = deskOf("b");
  const outcome = await ask("a", b, {
    // A guess goes before the right proof, which then finds no run.
    beforeRequest: async (message, turn) => {
      if (turn !== 1) return;
      const { run } = objectOf(message);
      assert.deepEqual(await say(b, "a", wrongProof(run)), REFUSED);
    },
  });
  assert.equal(outcome.kind, "failed");
  assert.deepEqual(b.admitted, []);
});

Deno.test("AdmissionDesk logs a failed proof once per key hash and minute, with the address", async () => {
  const b = deskOf("b");
  const prs = new TextEncoder().encode("a guess");
  const failures = () =>
    b.log.lines.filter((line) => /failed to prove/.test(line.message));
  for (let n = 0; n < 5; n++) await ask("a", b, { prs, seed: n });
  await ask("c", b, { prs });
  assert.deepEqual(
    failures().map((line) => [line.level, line.fields.address]),
    [["warn", "address of a"], ["warn", "address of c"]],
  );
  assert.equal(failures()[0]?.fields.keyHash, keyHashOf("a"));
  await b.clock.advance(60_000);
  // Noise from the same key does not keep a guess out of the log.
  await say(b, "a", { noise: true });
  await ask("a", b, { prs, seed: 9 });
  assert.equal(failures().length, 3);
  assert(!JSON.stringify(b.log.lines).includes("a guess"));
});

Deno.test("AdmissionDesk bounds what it logs and remembers of strangers", async () => {
  const b = deskOf("b");
  for (let n = 0; n < 1_000; n++) await say(b, `n${n}`, { nonsense: n });
  assert.equal(b.log.lines.length, 256);
  assert.equal(b.desk.openRuns, 0);
  await b.clock.advance(60_000);
  await say(b, "again", null);
  assert.equal(b.log.lines.at(-1)?.fields.unloggedBefore, 744);
});

Deno.test("AdmissionDesk answers whatever is no message alike, and keeps no run for it", async () => {
  const b = deskOf("b");
  const encoder = new TextEncoder();
  const nested = "[".repeat(1_000_000);
  const hostile: Record<string, Uint8Array> = {
    nothing: new Uint8Array(),
    NULs: new Uint8Array(100),
    "not UTF-8": new Uint8Array(100).fill(0xfe),
    text: encoder.encode("hello"),
    number: encoder.encode("1"),
    null: encoder.encode("null"),
    "deep nesting": encoder.encode(nested),
    "deep nesting of objects": encoder.encode('{"v":'.repeat(100_000)),
    "too long": bytesOf({ ...HELLO, more: "x".repeat(UNPROVED_LIMIT_BYTES) }),
    "another version": bytesOf({ ...HELLO, v: 2 }),
    "version as text": bytesOf({ ...HELLO, v: "1" }),
    "another kind": bytesOf({ ...HELLO, kind: "door" }),
    "inherited kind": bytesOf({ ...HELLO, kind: "toString" }),
    "short nonce": bytesOf({ ...HELLO, nonce: "ab" }),
    "upper-case nonce": bytesOf({ ...HELLO, nonce: "AB".repeat(32) }),
    "nonce with a newline": bytesOf({
      ...HELLO,
      nonce: "ab".repeat(32) + "\n",
    }),
    "unknown run": bytesOf(wrongProof("cd".repeat(16))),
    "payload before proof": bytesOf({
      v: 1,
      step: "present",
      run: "cd".repeat(16),
      payload: "{}",
      tag: "ab".repeat(64),
    }),
    "a reply": bytesOf({ v: 1, step: "refused" }),
  };
  for (const [name, body] of Object.entries(hostile)) {
    await say(b, "a", HELLO);
    const reply = await b.desk.receive(body, peerOf("a"));
    assert.deepEqual(objectOf(reply), REFUSED, name);
    assert.equal(b.desk.openRuns, 0, name);
    await b.clock.advance(100);
  }
  assert.deepEqual(b.admitted, []);
  assert(b.log.lines.every((line) => line.level === "warn"));
});

Deno.test("AdmissionDesk lets only a proved peer send a long body", async () => {
  const b = deskOf("b");
  const limits: number[] = [];
  const note = () => limits.push(b.desk.bodyLimitBytes(keyHashOf("a")));
  note();
  await ask("a", b, {
    beforeRequest: () => {
      note();
      return Promise.resolve();
    },
  });
  note();
  const few = UNPROVED_LIMIT_BYTES;
  assert.deepEqual(limits, [few, few, few, PAYLOAD_LIMIT_BYTES, few]);
});

Deno.test("AdmissionDesk answers a fault of its own like any refusal, and logs it", async () => {
  const faults = [
    { passwordOf: () => Promise.reject(new Error("no keys")) },
    { admit: () => Promise.reject(new Error("no rows")) },
  ];
  for (const fault of faults) {
    const b = deskOf("b", fault);
    const wire: Wire = { requests: [], replies: [] };
    const outcome = await ask("a", b, { wire });
    assert.equal(outcome.kind, "failed");
    const last = wire.replies.at(-1);
    assert.deepEqual(last && objectOf(last), REFUSED);
    assert.deepEqual(b.log.lines.map((line) => line.level), ["error"]);
    assert.equal(b.desk.openRuns, 0);
  }
});

Deno.test("AdmissionDesk waits for a password that is still being derived", async () => {
  const derived = Promise.withResolvers<Uint8Array>();
  const b = deskOf("b", { passwordOf: () => derived.promise });
  const outcome = ask("a", b);
  derived.resolve(PASSWORD);
  assert.equal((await outcome).kind, "admitted");
});
