import assert from "node:assert/strict";
import { ManualClock } from "@covey/core/platform";
import { CopyPace } from "../../src/copy/copy_pace.ts";

const SIGNAL = new AbortController().signal;

/** A pace by a clock that the test moves, on a machine that answers or not. */
function paceOf(settings: { readonly bytesPerSecond?: number } = {}) {
  const clock = new ManualClock();
  const machine = { isBusy: false, cpuMs: 0 };
  const pace = new CopyPace({
    clock,
    isBusy: () => machine.isBusy,
    bytesPerSecond: settings.bytesPerSecond ?? null,
    cpuMs: () => machine.cpuMs,
  });
  /** Wait for a turn; how long that took. */
  const turn = async (bytes = 1) => {
    const startMs = clock.monotonic();
    let given: Disposable | null = null;
    const over = pace.turn(bytes, SIGNAL).then((one) => given = one);
    await clock.advance(0);
    while (given === null) await clock.advance(5);
    const copied = await over;
    return { copied, waitedMs: clock.monotonic() - startMs };
  };
  /** Copy a piece on which the processor spends that much; how long it waited before. */
  const copy = async (cpuMs: number, bytes?: number) => {
    const { copied, waitedMs } = await turn(bytes);
    using _copied = copied;
    machine.cpuMs += cpuMs;
    return waitedMs;
  };
  return { clock, copy, machine, turn };
}

Deno.test("CopyPace keeps to a rate", async () => {
  const { copy } = paceOf({ bytesPerSecond: 1000 });
  assert.equal(await copy(40, 500), 0);
  assert.equal(await copy(40, 500), 500);
});

Deno.test("CopyPace keeps to a fifteenth of the time while the machine answers", async () => {
  const { clock, copy, machine } = paceOf();
  assert.equal(await copy(40, 1e9), 0);
  assert.equal(await copy(40, 1e9), 0, "nobody is answered");
  machine.isBusy = true;
  assert.equal(await copy(500), 560);
  assert.equal(
    await copy(0),
    1000,
    "a slow machine rests for long, and not for ever",
  );
  // A link that was waited for is no work, nor is what is done between two pieces.
  await clock.advance(500);
  machine.cpuMs += 60_000;
  assert.equal(await copy(40), 5);
  assert.equal(await copy(0), 560);
});

Deno.test("CopyPace counts what pieces that overlap cost, but once", async () => {
  const { copy, machine, turn } = paceOf();
  machine.isBusy = true;
  const first = await turn();
  const second = await turn();
  assert.deepEqual([first.waitedMs, second.waitedMs], [5, 5]);
  machine.cpuMs += 20;
  first.copied[Symbol.dispose]();
  machine.cpuMs += 10;
  // While it waits, the second one is copied still.
  const third = turn();
  machine.cpuMs += 10;
  second.copied[Symbol.dispose]();
  const { copied, waitedMs } = await third;
  assert.equal(waitedMs, 420);
  copied[Symbol.dispose]();
  assert.equal(await copy(0), 140);
});
