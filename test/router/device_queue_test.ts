import assert from "node:assert/strict";
import { ManualClock } from "../../src/platform/mod.ts";
import { DeviceQueue, type QueuePlace } from "../../src/router/device_queue.ts";
import { nextInLine } from "../../src/router/queue_order.ts";

function enter(
  queue: DeviceQueue,
  expectedMs: number,
  started: string[] = [],
  name = "",
  slots = 1,
  client = "c",
): QueuePlace {
  return queue.enter({
    model: "m",
    client,
    expectedMs,
    slots,
    onSlot: () => started.push(name),
  });
}

Deno.test("nextInLine prefers waited ÷ √expected work, then the earlier one", () => {
  const waiting = [
    { enteredAtMs: 0, expectedMs: 10_000, client: "a" },
    { enteredAtMs: 0, expectedMs: 100, client: "b" },
    { enteredAtMs: 0, expectedMs: 100, client: "b" },
  ];
  assert.equal(nextInLine(waiting, 0), 0);
  assert.equal(nextInLine(waiting, 1), 1);
  const later = [
    { enteredAtMs: 0, expectedMs: 10_000, client: "a" },
    { enteredAtMs: 91, expectedMs: 100, client: "b" },
  ];
  assert.equal(nextInLine(later, 100), 0);
  assert.equal(nextInLine(later, 200), 1);
  assert.equal(nextInLine([], 0), -1);
});

Deno.test("DeviceQueue hands out slots in order and never more than there are", async () => {
  const clock = new ManualClock();
  const queue = new DeviceQueue(clock);
  const started: string[] = [];
  const first = enter(queue, 1000, started, "first");
  const long = enter(queue, 10_000, started, "long");
  const short = enter(queue, 100, started, "short");
  assert.deepEqual(started, ["first"]);
  await clock.advance(200);
  first.leave();
  assert.deepEqual(started, ["first", "short"]);
  first.leave();
  assert.equal(queue.running, 1);
  short.leave();
  long.leave();
  assert.deepEqual(started, ["first", "short", "long"]);
  assert.deepEqual([queue.running, queue.waiting], [0, 0]);
});

Deno.test("DeviceQueue lets a cancelled waiter go at once, without a slot", () => {
  const queue = new DeviceQueue(new ManualClock());
  const started: string[] = [];
  const first = enter(queue, 10, started, "first");
  const second = enter(queue, 10, started, "second");
  second.leave();
  first.leave();
  assert.deepEqual(started, ["first"]);
  assert.equal(second.state, "left");
});

Deno.test("DeviceQueue reports what is left of running work, shrinking, and never nothing", async () => {
  const clock = new ManualClock();
  const queue = new DeviceQueue(clock);
  const place = enter(queue, 1000);
  enter(queue, 300);
  await clock.advance(400);
  assert.deepEqual(queue.report(1), {
    slots: 1,
    runningMs: [600],
    waitingMs: [300],
  });
  await clock.advance(1600);
  assert.deepEqual(queue.report(1).runningMs, [100]);
  place.expect(500);
  assert.deepEqual(queue.report(1).runningMs, [500]);
});

Deno.test("DeviceQueue measures how many ran side by side", async () => {
  const clock = new ManualClock();
  const queue = new DeviceQueue(clock);
  const one = enter(queue, 100, [], "", 2);
  await clock.advance(100);
  const two = enter(queue, 100, [], "", 2);
  await clock.advance(300);
  assert.equal(one.meanConcurrency, 1.75);
  assert.equal(two.meanConcurrency, 2);
});

Deno.test("DeviceQueue counts all sequences of an attempt that runs several, as many as are free when it starts", async () => {
  const clock = new ManualClock();
  const queue = new DeviceQueue(clock);
  const started: string[] = [];
  const several = (width: number, name: string) =>
    queue.enter({
      model: "m",
      client: "c",
      expectedMs: 100,
      slots: 4,
      width,
      onSlot: () => started.push(name),
    });
  const one = enter(queue, 100, started, "one", 4);
  const wide = several(16, "wide");
  assert.deepEqual([wide.lanes, queue.running, queue.isFree(4)], [3, 4, false]);
  assert.deepEqual(queue.report(4).runningMs, [100, 100, 100, 100]);
  const next = enter(queue, 100, started, "next", 4);
  assert.deepEqual(started, ["one", "wide"]);
  // What falls free goes to who waits, not to the wide one.
  one.leave();
  assert.deepEqual(started, ["one", "wide", "next"]);
  const narrow = several(2, "narrow");
  await clock.advance(100);
  wide.leave();
  assert.deepEqual([narrow.lanes, queue.running], [2, 3]);
  for (const place of [next, narrow, narrow]) place.leave();
  assert.deepEqual([queue.running, queue.report(4).runningMs], [0, []]);
});
