import assert from "node:assert/strict";
import { ManualClock } from "@covey/core/platform";
import { CopyPace } from "../../src/copy/copy_pace.ts";

const SIGNAL = new AbortController().signal;

/** How long a turn waits, by a clock that the test moves. */
async function waitMs(clock: ManualClock, turn: Promise<unknown>) {
  const startMs = clock.monotonic();
  let endMs: number | null = null;
  const over = turn.then(() => {
    endMs = clock.monotonic();
  });
  await clock.advance(0);
  while (endMs === null) await clock.advance(5);
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
  let cpuMs = 0;
  const free = new CopyPace({
    clock,
    isBusy: () => isBusy,
    bytesPerSecond: null,
    cpuMs: () => cpuMs,
  });
  cpuMs += 40;
  assert.equal(await waitMs(clock, free.turn(1e9, SIGNAL)), 0);
  isBusy = true;
  cpuMs += 40;
  assert.equal(await waitMs(clock, free.turn(1, SIGNAL)), 120);
  // A link that was waited for, or a long time without a copy, is no work.
  await clock.advance(60_000);
  assert.equal(await waitMs(clock, free.turn(1, SIGNAL)), 5);
  cpuMs += 60_000;
  assert.equal(await waitMs(clock, free.turn(1, SIGNAL)), 500);
  // Lanes that ask at once take their turns.
  cpuMs += 40;
  const turns = [free.turn(1, SIGNAL), free.turn(1, SIGNAL)];
  assert.equal(await waitMs(clock, Promise.all(turns)), 125);
});
