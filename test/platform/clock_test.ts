import assert from "node:assert/strict";
import { ManualClock } from "../../src/platform/mod.ts";

Deno.test("ManualClock wakes sleepers in order of time", async () => {
  const clock = new ManualClock();
  const woken: string[] = [];
  const late = clock.sleep(20).then(() => woken.push("late"));
  const early = clock.sleep(10).then(() => woken.push("early"));
  await clock.advance(9);
  assert.deepEqual(woken, []);
  await clock.advance(11);
  await Promise.all([late, early]);
  assert.deepEqual(woken, ["early", "late"]);
  assert.equal(clock.monotonic(), 20);
});

Deno.test("ManualClock runs what a wake-up schedules within the same advance", async () => {
  const clock = new ManualClock();
  const at: number[] = [];
  const chain = (async () => {
    for (let n = 0; n < 3; n++) {
      await clock.sleep(5);
      at.push(clock.monotonic());
    }
  })();
  await clock.advance(15);
  await chain;
  assert.deepEqual(at, [5, 10, 15]);
});

Deno.test("ManualClock repeats every until it is disposed", async () => {
  const clock = new ManualClock();
  let calls = 0;
  const timer = clock.every(10, () => calls++);
  await clock.advance(35);
  assert.equal(calls, 3);
  timer[Symbol.dispose]();
  await clock.advance(50);
  assert.equal(calls, 3);
  assert.equal(clock.pending, 0);
});

Deno.test("sleep rejects with the signal's reason and frees its timer when aborted", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const sleeping = clock.sleep(10, stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(sleeping, /enough/);
  assert.equal(clock.pending, 0);
  await assert.rejects(clock.sleep(10, stop.signal), /enough/);
});

Deno.test("deadline aborts with a TimeoutError when its time is up", async () => {
  const clock = new ManualClock();
  using deadline = clock.deadline(10);
  await clock.advance(9);
  assert.equal(deadline.signal.aborted, false);
  await clock.advance(1);
  assert.equal(deadline.signal.reason.name, "TimeoutError");
});

Deno.test("deadline follows its parent and leaves no timer behind", () => {
  const clock = new ManualClock();
  const parent = new AbortController();
  const deadline = clock.deadline(10, parent.signal);
  parent.abort(new Error("client left"));
  assert.match(String(deadline.signal.reason), /client left/);
  assert.equal(clock.pending, 0);
  clock.deadline(10)[Symbol.dispose]();
  assert.equal(clock.pending, 0);
});

Deno.test("setNow moves the wall clock and no timer", async () => {
  const clock = new ManualClock(1000);
  let woken = false;
  using _timer = clock.after(10, () => woken = true);
  clock.setNow(9_999_999);
  await clock.advance(5);
  assert.equal(woken, false);
  assert.equal(clock.now(), 9_999_999 + 5);
});

Deno.test("ManualClock wakes what fell due in a pause after it, a repeated call once", async () => {
  const clock = new ManualClock();
  const woken: string[] = [];
  clock.after(1000, () => woken.push(`once at ${clock.monotonic()}`));
  using _every = clock.every(100, () => woken.push(`at ${clock.monotonic()}`));
  await clock.pause(5000);
  assert.deepEqual(woken, ["at 5000", "once at 5000"]);
  await clock.advance(100);
  assert.deepEqual(woken.slice(2), ["at 5100"]);
});
