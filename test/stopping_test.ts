import assert from "node:assert/strict";
import { ManualClock } from "../src/platform/mod.ts";
import { Stopping } from "../src/stopping.ts";
import { QuietLog } from "./fakes/quiet_log.ts";

function setUp(limitMs: number) {
  const clock = new ManualClock();
  const told: string[] = [];
  const router = {
    running: 1,
    drain: (draining: boolean) => void told.push(`drain ${draining}`),
    inFlight: () => router.running,
    [Symbol.asyncDispose]() {
      told.push("broken off");
      router.running = 0;
      return Promise.resolve();
    },
  };
  const log = new QuietLog();
  const stopping = new Stopping({
    clock,
    log,
    router,
    announce: () => told.push("announce"),
    limitMs,
  });
  const over = (wait: Promise<void>) => {
    const seen = { over: false };
    wait.then(() => seen.over = true);
    return seen;
  };
  return { clock, log, over, router, stopping, told };
}

const never = new AbortController().signal;

Deno.test("Stopping takes no more work and says so at once, once", () => {
  const { stopping, told } = setUp(30_000);
  stopping.begin();
  stopping.begin();
  assert.deepEqual(told, ["drain true", "announce"]);
});

Deno.test("Stopping gives answers until the limit, and other requests five seconds once no answer runs", async () => {
  const { clock, over, router, stopping } = setUp(30_000);
  stopping.begin();
  const grace = over(stopping.grace(never));
  await clock.advance(29_000);
  assert.equal(grace.over, false);
  router.running = 0;
  await clock.advance(100);
  assert.equal(grace.over, true);

  const other = setUp(30_000);
  other.stopping.begin();
  const limited = other.over(other.stopping.grace(never));
  await other.clock.advance(30_000);
  assert.equal(other.told.at(-1), "broken off");
  assert.equal(limited.over, false);
  await other.clock.advance(500);
  assert.equal(limited.over, true);

  const idle = setUp(30_000);
  idle.router.running = 0;
  idle.stopping.begin();
  const watched = idle.over(idle.stopping.grace(never));
  await idle.clock.advance(4_900);
  assert.equal(watched.over, false);
  await idle.clock.advance(200);
  assert.equal(watched.over, true);
});

Deno.test("Stopping waits for peers' answers within the same limit, and says what it breaks off", async () => {
  const { clock, log, over, stopping } = setUp(30_000);
  stopping.begin();
  await clock.advance(20_000);
  const idle = over(stopping.idle());
  await clock.advance(9_000);
  assert.equal(idle.over, false);
  await clock.advance(1_000);
  assert.equal(idle.over, true);
  assert.ok(log.lines.some(({ message }) => message.includes("broken off")));
  const again = over(stopping.idle());
  await clock.advance(0);
  assert.equal(again.over, true);
  assert.equal(clock.pending, 0);
});

Deno.test("Stopping leaves no timer behind when its wait is ended", async () => {
  const { clock, stopping } = setUp(30_000);
  stopping.begin();
  const over = new AbortController();
  const grace = stopping.grace(over.signal);
  await clock.advance(100);
  over.abort();
  await grace;
  assert.equal(clock.pending, 0);
});
