import assert from "node:assert/strict";
import fc from "fast-check";
import { ManualClock } from "../../src/platform/mod.ts";
import { ClientTurns } from "../../src/router/client_turns.ts";
import { DeviceQueue, type QueuePlace } from "../../src/router/device_queue.ts";
import { inLine, nextInLine } from "../../src/router/queue_order.ts";

interface Job {
  readonly client: string;
  readonly expectedMs: number;
  /** When it arrives. */
  readonly atMs: number;
  /** How long it waits before its caller leaves; absent for however long it takes. */
  readonly patienceMs?: number | undefined;
}

interface Start {
  readonly job: Job;
  readonly atMs: number;
}

/** Run jobs that take what they are expected to; every start in order. */
async function play(
  jobs: readonly Job[],
  slots: number,
  seen: (queue: DeviceQueue) => void = () => {},
): Promise<readonly Start[]> {
  const clock = new ManualClock();
  const queue = new DeviceQueue(clock);
  const starts: Start[] = [];
  for (const job of jobs) {
    clock.after(job.atMs, () => {
      const slot = Promise.withResolvers<QueuePlace>();
      const place = queue.enter({
        ...job,
        model: "m",
        slots,
        onSlot() {
          starts.push({ job, atMs: clock.monotonic() });
          clock.after(job.expectedMs, () => {
            slot.promise.then((held) => {
              held.leave();
              seen(queue);
            });
          });
        },
      });
      slot.resolve(place);
      if (job.patienceMs !== undefined) {
        clock.after(job.patienceMs, () => {
          if (place.state === "waiting") place.leave();
          seen(queue);
        });
      }
      seen(queue);
    });
  }
  await clock.advance(jobs.reduce((sum, one) => sum + one.expectedMs, 1) + 100);
  return starts;
}

function jobsOf(client: string, count: number, expectedMs: number): Job[] {
  return Array.from({ length: count }, () => ({ client, expectedMs, atMs: 0 }));
}

Deno.test("a caller with few requests does not wait for one with many", async () => {
  const starts = await play([
    ...jobsOf("many", 30, 10),
    ...jobsOf("few", 2, 10).map((job) => ({ ...job, atMs: 5 })),
  ], 1);
  const few = starts.flatMap(({ job }, at) => job.client === "few" ? [at] : []);
  assert(few.every((at) => at <= 4), `${few}`);
});

Deno.test("clients share by work, not by number of requests", async () => {
  const starts = await play([
    ...jobsOf("long", 10, 40),
    ...jobsOf("short", 40, 10),
  ], 1);
  const halfway = starts.filter(({ atMs }) => atMs < 400);
  const workOf = (client: string) =>
    halfway.filter(({ job }) => job.client === client)
      .reduce((sum, { job }) => sum + job.expectedMs, 0);
  // One long job began before anybody else was there, and one may be under way.
  assert(Math.abs(workOf("long") - workOf("short")) <= 80);
});

Deno.test("what a client had while it was alone is not held against it", () => {
  const turns = new ClientTurns();
  turns.join("alone");
  turns.join("alone");
  for (let n = 0; n < 10; n++) turns.give("alone", 100);
  assert.equal(turns.aheadMs("alone"), 0);
  turns.join("newcomer");
  turns.give("alone", 100);
  assert.equal(turns.aheadMs("alone"), 50);
  assert.equal(turns.aheadMs("newcomer"), -50);
  turns.leave("newcomer");
  turns.join("newcomer");
  assert.equal(turns.aheadMs("newcomer"), 0);
});

Deno.test("what a client had beside requests that were taken back is not held against it", () => {
  const queue = new DeviceQueue(new ManualClock());
  const started: string[] = [];
  const enter = (client: string) =>
    queue.enter({
      client,
      model: "m",
      expectedMs: 100,
      slots: 1,
      onSlot: () => started.push(client),
    });
  let running = enter("worker");
  enter("gone").leave();
  // Alone for ten requests, of which one always waits.
  for (let n = 0; n < 10; n++) {
    const next = enter("worker");
    running.leave();
    running = next;
  }
  enter("worker");
  enter("newcomer");
  running.leave();
  assert.deepEqual(started, Array(12).fill("worker"));
});

const jobs = fc.array(
  fc.record({
    client: fc.constantFrom("a", "b", "c", "d"),
    expectedMs: fc.integer({ min: 1, max: 50 }),
    atMs: fc.integer({ min: 0, max: 60 }),
    patienceMs: fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 30 },
);

Deno.test("a queue is work-conserving, serves everybody who waits, and gives nobody much more than a share", async () => {
  await fc.assert(
    fc.asyncProperty(
      jobs,
      fc.integer({ min: 1, max: 3 }),
      async (all, slots) => {
        const starts = await play(all, slots, (queue) => {
          assert(queue.running <= slots);
          assert(queue.waiting === 0 || queue.running === slots);
          const report = queue.report(slots);
          assert.equal(report.waitingMs.length, queue.waiting);
        });
        const waited = all.filter((job) => job.patienceMs === undefined);
        for (const job of waited) {
          assert(starts.some((start) => start.job === job));
        }
        assert.equal(new Set(starts.map(({ job }) => job)).size, starts.length);
        const longest = Math.max(...all.map(({ expectedMs }) => expectedMs));
        for (const one of ["a", "b", "c", "d"]) {
          const own = all.filter(({ client }) => client === one);
          const others = all.length - own.length;
          if (own.length !== 1 || others === 0) continue;
          const start = starts.find(({ job }) => job.client === one);
          const [job] = own;
          assert(job !== undefined);
          if (start === undefined) continue;
          // At most one longest job of each other client, and what ran already.
          assert(
            start.atMs - job.atMs <= longest * 2 * 4,
            `${start.atMs - job.atMs} > 8 × ${longest}`,
          );
        }
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("a request is not starved by an endless stream of shorter and newer ones", async () => {
  const starts = await play([
    { client: "patient", expectedMs: 1000, atMs: 1 },
    ...Array.from({ length: 300 }, (_, n) => ({
      client: `passer-by ${n}`,
      expectedMs: 10,
      atMs: Math.floor(n * 10 / 1.05),
    })),
  ], 1);
  const patient = starts.find(({ job }) => job.client === "patient");
  assert(patient !== undefined && patient.atMs < 2000, `${patient?.atMs}`);
});

Deno.test("inLine is a permutation that agrees with who is served next", () => {
  fc.assert(fc.property(jobs, (all) => {
    const turns = new ClientTurns();
    const waiting = all.map((job) => ({ ...job, enteredAtMs: job.atMs }));
    for (const { client } of waiting) turns.join(client);
    const before = ["a", "b", "c", "d"].map((one) => turns.aheadMs(one));
    const line = inLine(waiting, 60, turns);
    assert.deepEqual(new Set(line), new Set(waiting));
    assert.equal(line.length, waiting.length);
    assert.equal(waiting[nextInLine(waiting, 60, turns)], line[0]);
    const after = ["a", "b", "c", "d"].map((one) => turns.aheadMs(one));
    assert.deepEqual(after, before);
  }));
});
