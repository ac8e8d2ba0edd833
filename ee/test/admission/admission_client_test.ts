import { createSeededEntropy, ManualClock } from "@covey/core/platform";
import assert from "node:assert/strict";
import {
  type AdmissionOptions,
  runAdmission,
} from "../../src/admission/admission_client.ts";
import { bytesOf, deskOf, keyHashOf, PASSWORD } from "./admission_pair.ts";

function optionsOf(changes: Partial<AdmissionOptions>): AdmissionOptions {
  return {
    way: { kind: "secret", slot: 0 },
    prs: PASSWORD,
    own: keyHashOf("a"),
    peer: keyHashOf("b"),
    payload: {},
    send: () => Promise.reject(new Error("Failed to connect")),
    clock: new ManualClock(),
    entropy: createSeededEntropy(1),
    signal: new AbortController().signal,
    ...changes,
  };
}

Deno.test("runAdmission says what the carrier threw, whatever it was", async () => {
  for (const cause of [new Error("Failed to connect"), new RangeError(), "x"]) {
    const send = () => Promise.reject(cause);
    assert.deepEqual(await runAdmission(optionsOf({ send })), {
      kind: "failed",
      problem: "unreachable",
      cause,
    });
  }
});

Deno.test("runAdmission gives up after 8 s, even on a carrier that ignores its signal", async () => {
  const clock = new ManualClock();
  const never = Promise.withResolvers<Uint8Array>();
  const begun = Promise.withResolvers<AbortSignal>();
  const outcome = runAdmission(optionsOf({
    clock,
    send(_message, signal) {
      begun.resolve(signal);
      return never.promise;
    },
  }));
  const signal = await begun.promise;
  await clock.advance(7_999);
  assert.equal(signal.aborted, false);
  await clock.advance(1);
  assert.equal(signal.aborted, true);
  const ended = await outcome;
  assert.equal(ended.kind === "failed" && ended.problem, "timeout");
  assert.equal(clock.pending, 0);
  never.reject(new Error("late"));
});

Deno.test("runAdmission ends with the reason of its signal", async () => {
  const controller = new AbortController();
  const reason = new Error("shutting down");
  const begun = Promise.withResolvers<void>();
  const clock = new ManualClock();
  const pending = runAdmission(optionsOf({
    clock,
    signal: controller.signal,
    send: (_message, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        begun.resolve();
      }),
  }));
  await begun.promise;
  controller.abort(reason);
  await assert.rejects(pending, reason);
  await assert.rejects(
    runAdmission(optionsOf({ signal: controller.signal })),
    reason,
  );
  assert.equal(clock.pending, 0);
});

Deno.test("runAdmission tells a busy peer from one that refuses or babbles", async () => {
  const cases = [
    [bytesOf({ v: 1, step: "busy" }), "busy"],
    [bytesOf({ v: 1, step: "refused" }), "no_match"],
    [bytesOf({ v: 2, step: "hello" }), "no_match"],
    [bytesOf({ v: 1, step: "confirm", tag: "ab".repeat(64) }), "no_match"],
    [bytesOf({ v: 1, step: "busy", more: "x".repeat(3000) }), "no_match"],
    [new Uint8Array(), "no_match"],
  ] as const;
  for (const [reply, problem] of cases) {
    const send = () => Promise.resolve(reply);
    const outcome = await runAdmission(optionsOf({ send }));
    assert.equal(outcome.kind === "failed" && outcome.problem, problem);
  }
});

Deno.test("runAdmission throws when its own payload is too long", async () => {
  const b = deskOf("b");
  const peer = { keyHash: keyHashOf("a"), address: "address of a" };
  await assert.rejects(
    runAdmission(optionsOf({
      payload: { name: "x".repeat(2 ** 20) },
      send: (message) => b.desk.receive(message, peer),
    })),
    RangeError,
  );
  assert.deepEqual(b.admitted, []);
});
