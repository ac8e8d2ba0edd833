import assert from "node:assert/strict";
import { type Clock, ManualClock } from "@covey/core/platform";
import { afterListening } from "../../src/link/listening_time.ts";

Deno.test("afterListening calls when the time is up, and not once it is disposed of", async () => {
  const clock = new ManualClock();
  const calls: string[] = [];
  using _one = afterListening(clock, 1000, () => calls.push("one"));
  const other = afterListening(clock, 1000, () => calls.push("other"));
  await clock.advance(999);
  assert.deepEqual(calls, []);
  other[Symbol.dispose]();
  await clock.advance(1);
  assert.deepEqual(calls, ["one"]);
  assert.equal(clock.pending, 0);
});

Deno.test("afterListening takes a pause of the process for a quarter of the limit at most", () => {
  // A clock whose timers are all due late, as after a pause.
  const due: { readonly ms: number; readonly call: () => void }[] = [];
  const clock = {
    after(ms: number, call: () => void) {
      due.push({ ms, call });
      return { [Symbol.dispose]() {} };
    },
  } as Clock;
  let isCalled = false;
  afterListening(clock, 1000, () => isCalled = true);
  due.shift()?.call();
  assert.equal(isCalled, false);
  const waits: number[] = [];
  for (let one = due.shift(); one !== undefined; one = due.shift()) {
    waits.push(one.ms);
    one.call();
  }
  assert.deepEqual(waits, [250, 250, 250]);
  assert.equal(isCalled, true);
});
