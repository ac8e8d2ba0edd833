import assert from "node:assert/strict";
import { eventually } from "../../scripts/lab/eventually.ts";
import { Fault } from "../../src/domain/mod.ts";
import { Supervisor } from "../../src/engines/supervisor.ts";
import {
  createDenoProcesses,
  createSystemClock,
  ManualClock,
} from "../../src/platform/mod.ts";
import { FakeProcesses } from "../fakes/fake_processes.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import { isRunning } from "../e2e/procfs.ts";

const never = new AbortController().signal;

function setUp() {
  const clock = new ManualClock();
  const processes = new FakeProcesses();
  const log = new QuietLog();
  const disposed: number[] = [];
  let starts = 0;
  const supervisor = new Supervisor({
    name: "m",
    clock,
    log,
    processes,
    loadDeadlineMs: () => 300_000,
    keepAliveMs: 120_000,
    prepare: () => {
      const number = ++starts;
      return Promise.resolve({
        spawn: { command: ["engine"], env: {} },
        token: `token ${number}`,
        channel: {
          number,
          [Symbol.asyncDispose]: () => {
            disposed.push(number);
            return Promise.resolve();
          },
        },
      });
    },
  });
  return { clock, processes, log, disposed, supervisor };
}

function failsWith(code: string, message: RegExp, retryAfterMs?: number) {
  return (error: unknown) => {
    assert.ok(error instanceof Fault, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    if (retryAfterMs !== undefined) {
      assert.equal(error.retryAfterMs, retryAfterMs);
    }
    return true;
  };
}

Deno.test("Supervisor shares one start between all who ask, with the token first on stdin", async () => {
  const { clock, processes, supervisor } = setUp();
  await using _owner = supervisor;
  const asked = [supervisor.ensureReady(never), supervisor.ensureReady(never)];
  await clock.advance(700);
  processes.last.say({ event: "listening" });
  processes.last.say({ event: "loading", progress: 0.5 });
  await clock.advance(300);
  assert.deepEqual(supervisor.status(), {
    state: "starting",
    elapsedMs: 1_000,
    progress: 0.5,
  });
  processes.last.becomeReady();
  const leases = await Promise.all(asked);
  assert.equal(processes.children.length, 1);
  assert.equal(processes.last.input, "token 1\n");
  assert.deepEqual(leases.map(({ channel }) => channel.number), [1, 1]);
  const status = supervisor.status();
  assert.equal(status.state, "ready");
  assert.equal(status.state === "ready" && status.loadTimeMs, 1_000);
  for (const lease of leases) lease[Symbol.dispose]();
});

Deno.test("Supervisor goes on loading when its caller leaves", async () => {
  const { clock, processes, supervisor } = setUp();
  await using _owner = supervisor;
  const caller = new AbortController();
  const asked = supervisor.ensureReady(caller.signal);
  await clock.advance(10);
  caller.abort(new Error("gone"));
  await assert.rejects(asked, /gone/);
  processes.last.becomeReady();
  await clock.advance(119_999);
  assert.deepEqual(processes.last.signals, []);
  assert.equal(supervisor.status().state, "ready");
  await clock.advance(1);
  assert.deepEqual(processes.last.signals, ["SIGTERM"]);
});

Deno.test("Supervisor unloads when idle and never while in use", async () => {
  const { clock, processes, disposed, supervisor } = setUp();
  await using _owner = supervisor;
  processes.onSpawn = (child) => child.becomeReady();
  const lease = await supervisor.ensureReady(never);
  await clock.advance(600_000);
  assert.equal(await supervisor.stopIfIdle(), false);
  assert.equal(supervisor.status().state, "ready");
  lease[Symbol.dispose]();
  lease[Symbol.dispose]();
  await clock.advance(120_000);
  assert.equal(supervisor.status().state, "stopped");
  assert.deepEqual(disposed, [1]);
  (await supervisor.ensureReady(never))[Symbol.dispose]();
  assert.equal(processes.children.length, 2);
});

Deno.test("Supervisor backs off after crashes, up to a cap, and forgets them after health (PRC-03)", async () => {
  const { clock, processes, log, supervisor } = setUp();
  await using _owner = supervisor;
  processes.onSpawn = (child) => {
    child.complain("one\ntwo\nlast words");
    child.exit(1);
  };
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    await assert.rejects(
      supervisor.ensureReady(never),
      failsWith("engine_failed", /engine of "m" ended with exit code 1/),
    );
    const started = processes.children.length;
    await clock.advance(seconds * 1_000 - 1);
    await assert.rejects(
      supervisor.ensureReady(never),
      failsWith("engine_failed", /exit code 1/, 1),
    );
    assert.equal(processes.children.length, started);
    const status = supervisor.status();
    assert.equal(status.state === "failed" && status.retryInMs, 1);
    await clock.advance(1);
    assert.equal(supervisor.status().state, "stopped");
  }
  assert.equal(
    log.lines.find(({ level }) => level === "warn")?.fields.output,
    "one\ntwo\nlast words",
  );
  processes.onSpawn = (child) => child.becomeReady();
  const lease = await supervisor.ensureReady(never);
  await clock.advance(60_000);
  processes.last.exit(1);
  await clock.advance(0);
  lease[Symbol.dispose]();
  const status = supervisor.status();
  assert.equal(status.state === "failed" && status.retryInMs, 1_000);
});

Deno.test("Supervisor says why a process ended unasked (PRC-03)", async () => {
  const cases: [number, string | null, RegExp][] = [
    [137, null, /killed\/out of memory/],
    [137, "SIGKILL", /killed\/out of memory/],
    [139, "SIGSEGV", /crashed \(SIGSEGV\)/],
    [0, null, /without being asked to/],
    [3, null, /failed: no such tensor/],
  ];
  for (const [code, signal, reason] of cases) {
    const { clock, processes, supervisor } = setUp();
    await using _owner = supervisor;
    processes.onSpawn = (child) => child.becomeReady();
    using lease = await supervisor.ensureReady(never);
    if (code === 3) {
      processes.last.say({ event: "failed", reason: "no such tensor" });
    }
    processes.last.exit(code, signal);
    await clock.advance(0);
    assert.ok(lease.died.aborted);
    assert.ok(failsWith("engine_failed", reason)(lease.died.reason));
    await assert.rejects(
      supervisor.ensureReady(never),
      failsWith("engine_failed", reason),
    );
  }
});

Deno.test("Supervisor gives a load up at its deadline and tries again later (PRC-04)", async () => {
  const { clock, processes, supervisor } = setUp();
  await using _owner = supervisor;
  processes.onSpawn = (child) => child.obeys = false;
  const asked = assert.rejects(
    supervisor.ensureReady(never),
    failsWith("engine_failed", /did not load within 300 s/),
  );
  await clock.advance(302_999);
  assert.deepEqual(processes.last.signals, ["SIGTERM"]);
  await clock.advance(1);
  assert.deepEqual(processes.last.signals, ["SIGTERM", "SIGKILL"]);
  await asked;
  await clock.advance(1_000);
  processes.onSpawn = (child) => child.becomeReady();
  (await supervisor.ensureReady(never))[Symbol.dispose]();
});

Deno.test("Supervisor starts anew for those who ask while it stops", async () => {
  const { clock, processes, supervisor } = setUp();
  await using _owner = supervisor;
  processes.onSpawn = (child) => {
    child.obeys = false;
    child.becomeReady();
  };
  const lease = await supervisor.ensureReady(never);
  const stopped = supervisor.stop();
  const asked = supervisor.ensureReady(never);
  await clock.advance(2_000);
  assert.equal(supervisor.status().state, "stopping");
  processes.last.exit(0);
  await stopped;
  assert.ok(failsWith("engine_failed", /was stopped/)(lease.died.reason));
  const next = await asked;
  assert.equal(next.channel.number, 2);
  next[Symbol.dispose]();
  lease[Symbol.dispose]();
  await Promise.all([supervisor[Symbol.asyncDispose](), clock.advance(3_000)]);
  await assert.rejects(
    supervisor.ensureReady(never),
    failsWith("shutting_down", /shutting down/),
  );
});

Deno.test("Supervisor reads all that is printed, keeping 20 bounded lines", async () => {
  const { clock, processes, log, supervisor } = setUp();
  await using _owner = supervisor;
  processes.onSpawn = (child) => {
    child.complain(`${"x".repeat(100_000)}\n`);
    for (let line = 1; line <= 25; line++) child.complain(`line ${line}\n`);
    child.say({ event: "unknown" });
    child.say({ event: "ready", contextLength: -1, slots: 1, loadTimeMs: 1 });
    child.exit(1);
  };
  await assert.rejects(supervisor.ensureReady(never));
  await clock.advance(0);
  const longest = log.lines.map(({ fields }) => String(fields.line).length);
  assert.equal(Math.max(...longest), 4_096);
  const output = log.lines.find(({ level }) => level === "warn")?.fields.output;
  assert.deepEqual(
    String(output).split("\n"),
    Array.from({ length: 20 }, (_, at) => `line ${at + 6}`),
  );
});

Deno.test("Supervisor keeps the cause of a failed spawn for the log alone", async () => {
  const { processes, log, supervisor } = setUp();
  await using _owner = supervisor;
  processes.failure = new Error("cannot run /secret/path");
  await assert.rejects(supervisor.ensureReady(never), (error) => {
    assert.ok(error instanceof Fault);
    assert.equal(error.message, 'The engine of "m" could not be started');
    return true;
  });
  assert.equal(log.lines[0]?.fields.reason, "cannot run /secret/path");
});

Deno.test("Supervisor kills a real process that ignores SIGTERM (PRC-01)", async () => {
  const log = new QuietLog();
  await using supervisor = new Supervisor({
    name: "stubborn",
    clock: createSystemClock(),
    log,
    processes: createDenoProcesses([]),
    loadDeadlineMs: () => 20_000,
    keepAliveMs: Infinity,
    stopGraceMs: 50,
    prepare: () =>
      Promise.resolve({
        spawn: {
          command: [
            "/bin/sh",
            "-c",
            `trap '' TERM; read token; echo "token $token" >&2
             echo '{"event":"ready","loadTimeMs":1,"contextLength":8,"slots":1}'
             exec cat`,
          ],
          env: {},
        },
        token: "t0",
        channel: { [Symbol.asyncDispose]: () => Promise.resolve() },
      }),
  });
  using lease = await supervisor.ensureReady(never);
  await supervisor.stop();
  assert.ok(lease.died.aborted);
  const messages = log.lines.map(({ message }) => message);
  assert.ok(
    messages.includes("An engine did not stop when asked to and is killed"),
  );
  assert.ok(!messages.includes("An engine could not be killed"));
  assert.ok(log.lines.some(({ fields }) => fields.line === "token t0"));
  const pid = Number(log.lines[0]?.fields.pid);
  assert.throws(() => Deno.kill(pid, "SIGCONT"), Deno.errors.NotFound);
});

Deno.test("Supervisor reports the code of a real process killed from outside (PRC-03)", async () => {
  const log = new QuietLog();
  await using supervisor = new Supervisor({
    name: "victim",
    clock: createSystemClock(),
    log,
    processes: createDenoProcesses([]),
    loadDeadlineMs: () => 20_000,
    keepAliveMs: Infinity,
    prepare: () =>
      Promise.resolve({
        spawn: { command: ["/bin/sh", "-c", "kill -9 $$"], env: {} },
        token: "t0",
        channel: { [Symbol.asyncDispose]: () => Promise.resolve() },
      }),
  });
  await assert.rejects(
    supervisor.ensureReady(never),
    failsWith("engine_failed", /killed\/out of memory/),
  );
});

Deno.test({
  name:
    "Supervisor leaves no grandchild of a wrapper behind, and others of its name alone (PRC-01)",
  ignore: Deno.build.os !== "linux",
  async fn() {
    // A program of the same name that is nobody's engine.
    const stranger = new Deno.Command("/bin/sh", {
      args: ["-c", "exec sleep 100"],
      stdin: "null",
    }).spawn();
    try {
      for (const end of ["stopped", "killed"] as const) {
        const log = new QuietLog();
        await using supervisor = new Supervisor({
          name: "wrapped",
          clock: createSystemClock(),
          log,
          processes: createDenoProcesses([]),
          loadDeadlineMs: () => 20_000,
          keepAliveMs: Infinity,
          stopGraceMs: 50,
          prepare: () =>
            Promise.resolve({
              spawn: {
                command: [
                  "/bin/sh",
                  "-c",
                  `read token; sleep 100 & echo "grandchild $!" >&2
                   echo '{"event":"ready","loadTimeMs":1,"contextLength":8,"slots":1}'
                   wait`,
                ],
                env: { PATH: "/usr/bin:/bin" },
                ownGroup: true,
              },
              token: "t0",
              channel: { [Symbol.asyncDispose]: () => Promise.resolve() },
            }),
        });
        using lease = await supervisor.ensureReady(never);
        const pid = Number(
          log.lines.find(({ message }) => message === "Starting an engine")
            ?.fields.pid,
        );
        if (end === "stopped") await supervisor.stop();
        else {
          Deno.kill(pid, "SIGKILL");
          await new Promise<void>((gone) =>
            lease.died.addEventListener("abort", () => gone(), { once: true })
          );
        }
        const line = log.lines.flatMap(({ fields }) =>
          String(fields.line).match(/^grandchild (\d+)$/)?.[1] ?? []
        );
        const [grandchild] = line.map(Number);
        assert.ok(grandchild);
        // Killed is not gone: the system takes its time while others want the processor.
        for (const gone of [grandchild, pid]) {
          await eventually(
            `process ${gone} is gone once its engine was ${end}`,
            async () => (await isRunning(gone)) ? undefined : true,
          );
        }
      }
      assert.equal(await isRunning(stranger.pid), true);
    } finally {
      stranger.kill("SIGKILL");
      await stranger.status;
    }
  },
});
