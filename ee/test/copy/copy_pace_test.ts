import assert from "node:assert/strict";
import { ManualClock } from "@covey/core/platform";
import { CopyPace } from "../../src/copy/copy_pace.ts";

const SIGNAL = new AbortController().signal;

/** How long a turn waits, by a clock that the test moves. */
async function waitMs(clock: ManualClock, turn: Promise<void>) {
  const startMs = clock.monotonic();
  let endMs: number | null = null;
  const over = turn.then(() => {
    endMs = clock.monotonic();
  });
  await clock.advance(0);
  while (endMs === null) await clock.advance(100);
  await over;
  return endMs - startMs;
}

Deno.test("CopyPace keeps to a rate, and to a quarter of the time while the machine answers", async () => {
  const clock = new ManualClock();
  const limited = new CopyPace({
    clock,
    isBusy: () => false,
    bytesPerSecond: 1000,
  });
  assert.equal(await waitMs(clock, limited.turn(500, SIGNAL)), 0);
  assert.equal(await waitMs(clock, limited.turn(500, SIGNAL)), 500);
  let isBusy = false;
  const free = new CopyPace({
    clock,
    isBusy: () => isBusy,
    bytesPerSecond: null,
  });
  assert.equal(await waitMs(clock, free.turn(1e9, SIGNAL)), 0);
  isBusy = true;
  await clock.advance(100);
  assert.equal(await waitMs(clock, free.turn(1, SIGNAL)), 300);
});
