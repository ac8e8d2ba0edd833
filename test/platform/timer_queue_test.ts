import assert from "node:assert/strict";
import * as fc from "fast-check";
import { TimerQueue } from "../../src/platform/timer_queue.ts";

/** A runtime whose time is the test's; counts what it was asked for. */
class FakeRuntime {
  nowMs = 0;
  sets = 0;
  #armed: { readonly atMs: number; readonly call: () => void } | null = null;

  get armedMs(): number | null {
    return this.#armed?.atMs ?? null;
  }

  now(): number {
    return this.nowMs;
  }

  set(ms: number, call: () => void): () => void {
    assert.equal(this.#armed, null, "one at a time");
    this.sets++;
    const armed = { atMs: this.nowMs + ms, call };
    this.#armed = armed;
    return () => {
      if (this.#armed === armed) this.#armed = null;
    };
  }

  advanceTo(ms: number): void {
    while (this.#armed !== null && this.#armed.atMs <= ms) {
      const { atMs, call } = this.#armed;
      this.#armed = null;
      this.nowMs = Math.max(this.nowMs, atMs);
      call();
    }
    this.nowMs = ms;
  }
}

Deno.test("TimerQueue rings what was not taken back, in order of time", () => {
  const step = fc.record({
    ms: fc.integer({ min: 0, max: 50 }),
    takeBackAfterMs: fc.option(fc.integer({ min: 0, max: 50 }), { nil: null }),
    waitMs: fc.integer({ min: 0, max: 20 }),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
    const runtime = new FakeRuntime();
    const queue = new TimerQueue(runtime);
    const rung: { readonly n: number; readonly atMs: number }[] = [];
    const expected: { readonly n: number; readonly atMs: number }[] = [];
    for (const [n, { ms, takeBackAfterMs, waitMs }] of steps.entries()) {
      const dueMs = runtime.nowMs + ms;
      const timer = queue.add(
        ms,
        () => rung.push({ n, atMs: runtime.nowMs }),
        false,
      );
      if (takeBackAfterMs !== null && takeBackAfterMs < ms) {
        queue.add(takeBackAfterMs, () => timer[Symbol.dispose](), false);
      } else expected.push({ n, atMs: dueMs });
      runtime.advanceTo(runtime.nowMs + waitMs);
    }
    runtime.advanceTo(runtime.nowMs + 100);
    assert.deepEqual(
      rung,
      expected.toSorted((a, b) => a.atMs - b.atMs || a.n - b.n),
    );
    assert.equal(runtime.armedMs, null, "nothing is left");
  }));
});

Deno.test("TimerQueue asks nothing of the runtime for a time-out that is due after another", () => {
  const runtime = new FakeRuntime();
  const queue = new TimerQueue(runtime);
  let beats = 0;
  using _beat = queue.add(1000, () => beats++, true);
  for (let n = 0; n < 5000; n++) {
    queue.add(2000 + n % 7, () => assert.fail("taken back"), false)
      [Symbol.dispose]();
  }
  assert.equal(runtime.sets, 1);
  runtime.advanceTo(10_500);
  assert.equal(beats, 10);
});

Deno.test("TimerQueue does not make up for beats that were slept through", () => {
  const runtime = new FakeRuntime();
  const queue = new TimerQueue(runtime);
  const beats: number[] = [];
  const beat = queue.add(100, () => {
    beats.push(runtime.nowMs);
    if (beats.length === 1) runtime.nowMs = 5000;
  }, true);
  runtime.advanceTo(100);
  runtime.advanceTo(5100);
  assert.deepEqual(beats, [100, 5000, 5100]);
  beat[Symbol.dispose]();
  assert.equal(runtime.armedMs, null);
});

Deno.test("TimerQueue rings the others when one of them throws", () => {
  const runtime = new FakeRuntime();
  const queue = new TimerQueue(runtime);
  let rung = 0;
  queue.add(10, () => {
    throw new Error("Broken");
  }, false);
  queue.add(10, () => rung++, false);
  assert.throws(() => runtime.advanceTo(10), /Broken/);
  runtime.advanceTo(11);
  assert.equal(rung, 1);
});
